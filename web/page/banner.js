/**
 * The banner over the conversation: that the connection is lost, what is kept, when it is tried
 * again; and for a moment, that it is back.
 */

import { h, setText } from "../src/dom.js";

const BACK_FOR = 2500;

/** Lies over the top of the conversation, so that nothing moves. */
export class Banner {
  /**
   * @param {HTMLElement} box
   * @param {() => void} tryNow
   */
  constructor(box, tryNow) {
    this._box = box;
    this._head = h("b", {});
    this._kept = h("span", { class: "wide" });
    this._next = h("span", {});
    this._button = h("button", { type: "button", class: "btn", onclick: tryNow }, "Try now");
    // The seconds are for the eye; the words are read out once.
    const words = h("span", {}, this._head, " ", this._kept);
    box.append(h("i", { "aria-hidden": "true" }), words, h("span", { "aria-hidden": "true" }, this._next), this._button);
    this._timer = 0;
  }

  /**
   * @param {{seconds: number, words: string, block: number}} how
   */
  lost({ seconds, words, block }) {
    clearTimeout(this._timer);
    this._show("lost");
    setText(this._head, "Reconnecting.");
    setText(this._kept, words || (block ? `Everything up to block ${block} is kept.` : ""));
    this._kept.classList.toggle("wide", !words);
    setText(this._next, seconds > 0 ? `Next try in ${seconds} s.` : "Trying.");
    this._button.hidden = false;
  }

  /** @param {boolean} isBack whether it was lost before */
  ok(isBack) {
    if (this._box.hidden || this._box.dataset.state === "back") return;
    if (!isBack) return this._hide();
    this._show("back");
    setText(this._head, "Connected again.");
    setText(this._kept, "");
    setText(this._next, "");
    this._button.hidden = true;
    this._timer = setTimeout(() => this._hide(), BACK_FOR);
  }

  /** @param {string} state */
  _show(state) {
    this._box.dataset.state = state;
    this._box.hidden = false;
  }

  _hide() {
    clearTimeout(this._timer);
    this._box.hidden = true;
    delete this._box.dataset.state;
  }
}
