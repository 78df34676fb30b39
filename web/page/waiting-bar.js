/**
 * Above the composer, while questions wait and none of them is on the screen: how many there are,
 * and the way to the first one.
 *
 *     2 calls wait for you   Show
 */

import { h, setText } from "../src/dom.js";

export class WaitingBar {
  /**
   * @param {HTMLElement} dock what it stands in, above the composer
   * @param {() => Element[]} cards the questions that wait, in their order
   */
  constructor(dock, cards) {
    this._dock = dock;
    this._cards = cards;
    this._count = 0;
    this._frame = 0;
    this._words = h("b", {});
    this._bar = h(
      "div",
      { class: "waiting-bar", role: "group", "aria-label": "Questions" },
      this._words,
      h("button", { type: "button", class: "btn", onclick: () => this._show() }, "Show"),
    );
    this._bar.hidden = true;
    dock.prepend(this._bar);
    addEventListener("scroll", () => this._later(), { passive: true });
    addEventListener("resize", () => this._later());
  }

  /** @param {number} count how many questions wait */
  update(count) {
    this._count = count;
    setText(this._words, count === 1 ? "1 call waits for you" : `${count} calls wait for you`);
    this._later();
  }

  _later() {
    cancelAnimationFrame(this._frame);
    this._frame = requestAnimationFrame(() => this._look());
  }

  _look() {
    const bottom = this._dock.getBoundingClientRect().top;
    const isSeen = this._cards().some((card) => {
      const place = card.getBoundingClientRect();
      return place.bottom > 0 && place.top < bottom;
    });
    this._bar.hidden = this._count === 0 || isSeen;
  }

  _show() {
    const [card] = this._cards();
    card?.scrollIntoView({ block: "start" });
    card?.querySelector("summary")?.focus({ preventScroll: true });
  }
}
