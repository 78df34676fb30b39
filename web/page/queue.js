/**
 * Messages that wait for the turn to end: each stands under the conversation, in a dashed outline.
 * They are sent in order; after a turn that failed they wait for the person.
 */

import { h } from "../src/dom.js";
import { t } from "../src/words.js";
import { keep, kept } from "./keep.js";

/** @typedef {{text: string, files: import("./attachments.js").Attached[]}} Waiting */

export class Queue {
  /**
   * @param {HTMLElement} talk
   * @param {string} chat
   * @param {{edit: (one: Waiting) => void, send: () => void}} does
   */
  constructor(talk, chat, does) {
    this._chat = chat;
    this._does = does;
    // Files are not kept over a reload: they may be larger than what a tab may keep.
    /** @type {Waiting[]} */
    this._items = kept(`queue.${chat}`, /** @type {string[]} */ ([])).map((text) => ({ text, files: [] }));
    this._box = h("div", { class: "queue" });
    this._isLive = true;
    talk.append(this._box);
    this._draw();
  }

  /** @param {string} chat */
  setChat(chat) {
    keep(`queue.${this._chat}`, undefined);
    this._chat = chat;
    this._draw();
  }

  /** @param {Waiting} one */
  add(one) {
    this._items.push(one);
    this._draw();
  }

  /** The next one, which is no longer queued. */
  take() {
    const next = this._items.shift();
    this._draw();
    return next;
  }

  /** @param {boolean} isLive whether a turn runs: otherwise the person sends what waits */
  setLive(isLive) {
    if (isLive === this._isLive) return;
    this._isLive = isLive;
    this._draw();
  }

  _draw() {
    keep(`queue.${this._chat}`, this._items.length ? this._items.map(({ text }) => text) : undefined);
    this._box.replaceChildren(...this._items.map((one, at) => this._item(one, at)));
  }

  /**
   * @param {Waiting} one
   * @param {number} at
   */
  _item(one, at) {
    const drop = () => {
      this._items.splice(this._items.indexOf(one), 1);
      this._draw();
    };
    const quiet = (/** @type {string} */ words, /** @type {() => void} */ press) =>
      h("button", { type: "button", class: "btn small", "data-kind": "quiet", onclick: press }, words);
    const edit = () => {
      drop();
      this._does.edit(one);
    };
    const words = this._isLive ? t("Queued. Sent when this turn ends.") : t("Queued. It waits, because the turn before did not end well.");
    const files = one.files.map(({ name }) => name).join(", ");
    return h(
      "article",
      { class: "msg", "data-from": "user", "data-queued": true, "aria-label": t("You, queued") },
      h("div", { class: "said", dir: "auto" }, [one.text, files].filter(Boolean).join("\n")),
      h("div", { class: "acts" }, h("span", {}, words), !this._isLive && at === 0 && quiet(t("Send now"), () => this._does.send()), quiet(t("Edit"), edit), quiet(t("Remove"), drop)),
    );
  }
}
