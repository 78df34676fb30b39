/**
 * A turn that is heard again from its start: what is shown stays until the replay is as far, so
 * that nothing shrinks and grows again before the person's eyes.
 */

/** @typedef {import("../src/types.js").Message} Message */

const CATCH_UP = 600;

/** Says when a message that is told anew may take the place of the one that is shown. */
export class Replay {
  /**
   * @param {Message} message that is told anew
   * @param {Message | null} shown
   * @param {(message: Message) => void} swap
   */
  constructor(message, shown, swap) {
    this._message = message;
    this._parts = shown?.parts.length ?? 0;
    this._until = Date.now() + CATCH_UP;
    this._swap = swap;
    this._isShown = shown === null;
  }

  /** Whether the message is shown, now that more of it came. */
  seen() {
    if (this._message.parts.length >= this._parts || Date.now() > this._until) this.end();
    return this._isShown;
  }

  /** Nothing more comes: it is shown as it is. */
  end() {
    if (!this._isShown) this._swap(this._message);
    this._isShown = true;
  }
}
