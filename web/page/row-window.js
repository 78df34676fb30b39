/**
 * The rows of a long table, all of one height, of which only those in view are there.
 *
 *     const rows = new RowWindow(scroller, table, (at) => tr);
 *     rows.show(10_000);    rows.renew();    rows.reveal(512)
 *
 * The height is `--row-height` of the scroller, in pixels. Two bodies of the table, before and after
 * the rows, stand for the others.
 */

import { h } from "../src/dom.js";

const BEYOND = 8;

export class RowWindow {
  /**
   * @param {HTMLElement} scroller
   * @param {HTMLTableElement} table
   * @param {(at: number) => HTMLTableRowElement} render
   */
  constructor(scroller, table, render) {
    this._scroller = scroller;
    this._render = render;
    this._count = 0;
    this._range = [0, 0];
    /** @type {Map<number, HTMLTableRowElement>} */
    this._rows = new Map();
    this._above = gap();
    this._body = h("tbody", {});
    this._below = gap();
    table.append(this._above, this._body, this._below);
    scroller.addEventListener("scroll", () => this._look(), { passive: true });
    new ResizeObserver(() => this._look()).observe(scroller);
  }

  /** The height of a row, in pixels. */
  get height() {
    return Number.parseFloat(getComputedStyle(this._scroller).getPropertyValue("--row-height")) || 28;
  }

  /**
   * So many rows there are now; all that are in view are drawn anew.
   * @param {number} count
   */
  show(count) {
    this._count = count;
    this.renew();
  }

  /** Draw the rows in view anew. */
  renew() {
    this._rows.clear();
    this._body.replaceChildren();
    this._range = [0, 0];
    this._look();
  }

  /** The rows in view, by their places. */
  get rows() {
    return this._rows;
  }

  /**
   * Bring a row into view, and no further than needed.
   * @param {number} at
   */
  reveal(at) {
    const { height, _scroller: scroller } = this;
    const head = scroller.querySelector("thead")?.getBoundingClientRect().height ?? 0;
    const top = at * height;
    const room = scroller.clientHeight - head;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + height > scroller.scrollTop + room) scroller.scrollTop = top + height - room;
    this._look();
  }

  _look() {
    const { height, _scroller: scroller, _count: count } = this;
    const first = Math.max(0, Math.min(count, Math.floor(scroller.scrollTop / height) - BEYOND));
    const last = Math.min(count, Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + BEYOND);
    if (first === this._range[0] && last === this._range[1] && this._rows.size) return;
    this._range = [first, last];
    this._draw(first, last);
    setHeight(this._above, first * height);
    setHeight(this._below, (count - last) * height);
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  _draw(first, last) {
    for (const [at, row] of this._rows) {
      if (at >= first && at < last) continue;
      row.remove();
      this._rows.delete(at);
    }
    let next = this._body.firstElementChild;
    for (let at = first; at < last; at += 1) {
      const row = this._rows.get(at) ?? this._render(at);
      this._rows.set(at, row);
      if (row === next) next = next.nextElementSibling;
      else this._body.insertBefore(row, next);
    }
  }
}

function gap() {
  return h("tbody", { "aria-hidden": "true", class: "gap" }, h("tr", {}, h("td", {})));
}

/**
 * @param {HTMLElement} body
 * @param {number} height
 */
function setHeight(body, height) {
  body.hidden = height <= 0;
  body.querySelector("td")?.style.setProperty("height", `${height}px`);
}
