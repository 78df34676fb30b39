/**
 * A message that did not reach the server is back in the composer. If it turns out to have arrived
 * all the same, as where only the answer was lost, it leaves it again: nothing is said twice.
 */

/** @typedef {import("./chat-stream.js").Said} Said */

/** Keeps an eye on what could not be sent. */
export class Unsent {
  /** @param {import("./composer.js").Composer} composer */
  constructor(composer) {
    this._composer = composer;
    /** @type {Said | null} */
    this._said = null;
  }

  /**
   * @param {Said} said
   * @param {Error} error
   */
  take(said, error) {
    this._said = said;
    this._composer.restore(said.text, said.files);
    this._composer.complain(`Not sent. ${error.message}`);
  }

  /** It was sent again, or something else was. */
  forget() {
    this._said = null;
  }

  /** @param {import("../src/types.js").Message[]} messages as the server has them */
  compare(messages) {
    const said = this._said;
    if (!said || this._composer.box.value !== said.text) return;
    const last = messages.findLast((message) => message.role === "user");
    const isThere = last && !last.id.startsWith("said-") && last.parts.some((part) => part.text === said.text);
    if (!isThere) return;
    this._said = null;
    this._composer.write("");
    this._composer.files.taken();
    this._composer.complain("");
  }
}
