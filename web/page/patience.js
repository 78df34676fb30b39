/**
 * When to try again: after 1, 2, 4, 8 and then every 15 seconds, or as long as the server asked.
 * The person may cut a wait short, and so does a network that comes back.
 */

const WAITS = [1, 2, 4, 8, 15];

/** Counts the tries of one outage. */
export class Patience {
  constructor() {
    this.tries = 0;
    /** @type {(() => void) | null} */
    this.tryNow = null;
  }

  /** All is well again. */
  reset() {
    this.tries = 0;
  }

  /**
   * Wait for the next try; `tell` hears the seconds left, once a second.
   * @param {(left: number) => void} tell
   * @param {number} [atLeast] seconds
   * @returns {Promise<void>}
   */
  async wait(tell, atLeast = 0) {
    const seconds = Math.max(WAITS[Math.min(this.tries, WAITS.length - 1)] ?? 1, atLeast);
    this.tries += 1;
    const until = Date.now() + seconds * 1000;
    await new Promise((done) => {
      const look = () => {
        const left = Math.ceil((until - Date.now()) / 1000);
        if (left > 0) tell(left);
        else this.tryNow?.();
      };
      const timer = setInterval(look, 250);
      this.tryNow = () => {
        clearInterval(timer);
        removeEventListener("online", online);
        this.tryNow = null;
        done(undefined);
      };
      const online = () => this.tryNow?.();
      addEventListener("online", online);
      look();
    });
  }
}
