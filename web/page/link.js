/**
 * The connection to the server, through every outage: work is tried again until it is done, and
 * the person is told meanwhile.
 *
 *     await link.stay(() => read(), (end, error) => () => readAgain());
 */

import { ApiError } from "./api.js";
import { Patience } from "./patience.js";

/** How a stream ended: with its turn; broken off; or not to be used. @typedef {"over" | "cut" | "stale"} End */
/** @typedef {() => Promise<End>} Work */
/** @typedef {{state: "ok", isBack: boolean} | {state: "lost", seconds: number, words: string}} LinkState */

/** Tries again, and says so. */
export class Link {
  /** @param {(state: LinkState) => void} tell */
  constructor(tell) {
    this.patience = new Patience();
    this.isLost = false;
    this.isClosed = false;
    this._tell = tell;
  }

  /** Try nothing any more. */
  close() {
    this.isClosed = true;
    this.patience.tryNow?.();
  }

  /** The server answered. */
  reached() {
    this.patience.reset();
    this._tell({ state: "ok", isBack: this.isLost });
    this.isLost = false;
  }

  /**
   * Work until it is over; `next` says what to do after work that was not.
   * @param {Work} first
   * @param {(end: End | null, error: ApiError | null) => Work} next
   */
  async stay(first, next) {
    let work = first;
    while (!this.isClosed) {
      const { end, error } = await this._tried(work);
      if (end === "over" || this.isClosed) return;
      work = next(end, error);
      if (end !== "stale") await this._wait(error);
    }
  }

  /** @param {Work} work */
  async _tried(work) {
    try {
      return { end: await work(), error: null };
    } catch (error) {
      if (this.isClosed) return { end: null, error: null };
      if (!(error instanceof ApiError)) throw error;
      return { end: null, error };
    }
  }

  /** @param {ApiError | null} error */
  async _wait(error) {
    this.isLost = true;
    // Words of a fault that will not pass are for the person; an outage needs none.
    const words = error && !error.isPassing ? error.message : "";
    const tell = (/** @type {number} */ seconds) => this._tell({ state: "lost", seconds, words });
    await this.patience.wait(tell, error?.retryAfter ?? 0);
  }
}
