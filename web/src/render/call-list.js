/**
 * The lines of a batch. Of a very long one the first and the last stand there, and between them
 * how many are left out; a press shows more of them.
 *
 *     run(n=1) → ok
 *     ... (9780 more calls)
 *     run(n=10000) ⏳ 14 s
 *
 * Nothing is made before the fold opens, and a long list goes again when it closes.
 *
 * @module
 */

import { h, keyed, set, setText } from "../dom.js";
import { callView } from "./call.js";

/** @typedef {import("../types.js").Call} Call */
/** @typedef {import("./host.js").Host} Host */
/** @typedef {{key: string, call?: Call, left: number}} Row a call, or how many are left out */
/** @typedef {import("../dom.js").View<Row>} RowView */

const FIRST = 200;
const LAST = 20;
const MORE = 500;

export class CallList {
  /** @type {Map<string, RowView>} */
  #views = new Map();
  /** @type {readonly Call[]} */
  #calls = [];
  #first = FIRST;

  /** @param {Host} host */
  constructor(host) {
    this.node = h("ol", { class: "calls" });
    this.host = host;
  }

  /** @param {readonly Call[]} calls */
  show(calls) {
    this.#calls = calls;
    this.#draw();
  }

  /** The fold is closed. A short list stays for the next time. */
  close() {
    if (this.#views.size > FIRST) this.drop();
  }

  /** Nothing counts or stands here any more. */
  drop() {
    this.#first = FIRST;
    keyed(this.node, this.#views, [], keyOf, () => this.#gap());
  }

  #draw() {
    set(this.node, "data-many", this.#calls.length > FIRST);
    keyed(this.node, this.#views, this.#rows(), keyOf, (row) =>
      row.call ? this.#line() : this.#gap(),
    );
  }

  /** @returns {Row[]} */
  #rows() {
    const all = this.#calls.length;
    const left = all - this.#first - LAST;
    if (left <= 0) return this.#calls.map(rowOf);
    const last = this.#calls.slice(-LAST).map((call, i) => rowOf(call, all - LAST + i));
    return [...this.#calls.slice(0, this.#first).map(rowOf), { key: "gap", left }, ...last];
  }

  /** @returns {RowView} */
  #line() {
    const view = callView(this.host);
    return { ...view, update: ({ call }) => call && view.update(call) };
  }

  /** @returns {RowView} */
  #gap() {
    const button = h("button", { type: "button", class: "call-more" });
    button.addEventListener("click", () => {
      this.#first += MORE;
      this.#draw();
    });
    const node = h("li", { class: "call" }, button);
    return { node, update: ({ left }) => setText(button, `... (${left} more call${left > 1 ? "s" : ""})`) };
  }
}

/** @param {Row} row */
const keyOf = (row) => row.key;

/**
 * A damaged text may use an id twice; the calls of a batch only ever follow each other.
 * @param {Call} call
 * @param {number} at
 * @returns {Row}
 */
const rowOf = (call, at) => ({ key: `${at}:${call.id}`, call, left: 0 });
