/**
 * The text with what was read in it: openings, inputs and ends marked, problems under their lines,
 * and grey what has not arrived.
 *
 *     const marks = new Marks(scroller, box);
 *     marks.show(new Characters(text), reading, 270);     marks.move(280)      and into view
 */

import { h } from "../src/dom.js";
import { visible } from "../src/safe.js";
import { LazyChunks } from "./lazy-chunks.js";
import { Characters } from "./playground-characters.js";
import { chunkAt, chunksOf, heightOf } from "./playground-lines.js";
import { countAt, firstAt, markOf, NOTHING } from "./playground-reading.js";

/** @typedef {import("./playground-reading.js").Reading} Reading */
/** @typedef {import("./playground-reading.js").ReadEvent} ReadEvent */
/** @typedef {import("./playground-reading.js").ReadProblem} ReadProblem */
/** @typedef {import("./playground-lines.js").Chunk} Chunk */

export class Marks {
  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} box
   */
  constructor(scroller, box) {
    this._scroller = scroller;
    this._box = box;
    this._chars = new Characters("");
    /** @type {Reading} */
    this._reading = NOTHING;
    this._position = 0;
    /** @type {Chunk[]} */
    this._parts = [];
    this._chunks = new LazyChunks(scroller, box, { render: (chunk) => this._render(chunk), height: heightOf });
  }

  /**
   * Another text, or another reading of it.
   * @param {Characters} chars
   * @param {Reading} reading
   * @param {number} position
   */
  show(chars, reading, position) {
    if (chars !== this._chars) this._parts = chunksOf(chars);
    this._chars = chars;
    this._reading = reading;
    this._position = position;
    this._chunks.show([...this._parts]);
    this._chunks.renew(0, this._parts.length);
  }

  /**
   * So many characters have arrived now; only what that changes is drawn, and of that only what is
   * near the place where the text is cut.
   * @param {number} position
   */
  move(position) {
    if (position === this._position) return;
    const low = Math.min(position, this._position);
    const high = Math.max(position, this._position);
    this._position = position;
    const cut = position < this._chars.length ? chunkAt(this._parts, position) : -1;
    if (cut >= 0) this._follow(cut);
    const from = chunkAt(this._parts, this._changedFrom(low, high));
    const to = chunkAt(this._parts, high);
    this._chunks.renew(from, cut >= 0 ? Math.min(to, cut - 1) : to);
    if (cut >= 0) this._chunks.renew(Math.max(from, cut + 1), to);
  }

  /**
   * Bring the place where the text is cut into view.
   * @param {number} at the chunk that it is in
   */
  _follow(at) {
    this._chunks.renew(at, at);
    const around = [at, at - 1, at + 1].map((one) => this._chunks.reveal(one));
    const cut = around[0]?.querySelector(".cut");
    if (!cut) return;
    const box = this._scroller.getBoundingClientRect();
    const { top, bottom } = cut.getBoundingClientRect();
    if (top < box.top + 24 || bottom > box.bottom - 24) this._scroller.scrollTop += top - box.top - box.height / 3;
    this._chunks.letGo();
  }

  /**
   * What is known between two positions may begin long before.
   * @param {number} low
   * @param {number} high
   */
  _changedFrom(low, high) {
    const { events, problems } = this._reading;
    let from = low;
    for (const known of [events, problems]) {
      const last = countAt(known, high);
      for (let at = countAt(known, low); at < last; at += 1) from = Math.min(from, known[at]?.span[0] ?? low);
    }
    return from;
  }

  /** @param {Chunk} chunk */
  _render(chunk) {
    const begin = /** @type {number} */ (chunk.starts[0]);
    const problems = this._reading.problems.filter(({ span }) => span[0] <= chunk.end && span[1] >= begin);
    return chunk.starts.flatMap((start, at) => {
      const end = chunk.starts[at + 1] ?? chunk.end;
      const number = chunk.numbers[at];
      const line = h("span", { class: "ln", "data-n": number ? String(number) : null });
      line.append(...this._pieces(start, end, problems));
      return [line, ...problems.filter((one) => this._endsIn(one, start, end)).map((one) => this._note(one))];
    });
  }

  /**
   * Whether a message stands under this line: the one that the problem ends in.
   * @param {ReadProblem} problem
   * @param {number} start
   * @param {number} end
   */
  _endsIn({ span }, start, end) {
    const last = Math.max(span[0], span[1] - 1);
    return last >= start && (last < end || (end === this._chars.length && last >= end));
  }

  /** @param {ReadProblem} problem */
  _note({ code, detail, at }) {
    const note = h("span", { class: "note", "data-later": at > this._position }, h("code", {}, code));
    note.append(`: ${visible(detail)}`);
    return note;
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {ReadProblem[]} problems
   * @returns {Node[]}
   */
  _pieces(start, end, problems) {
    const nodes = [];
    const position = this._position;
    for (const [from, to, event] of this._runs(start, end, problems)) {
      if (from === position && position < this._chars.length) nodes.push(h("span", { class: "cut" }));
      const isBad = problems.some(({ span, at }) => at <= position && span[0] <= from && span[1] >= to);
      const isKnown = event !== undefined && event.at <= position && from < position;
      const kind = (isKnown && markOf(event)) || null;
      const text = visible(this._chars.slice(from, to));
      const isMarked = kind !== null || isBad || from >= position;
      const props = { "data-k": kind, "data-problem": isBad && from < position, "data-later": from >= position };
      nodes.push(isMarked ? h("span", props, text) : document.createTextNode(text));
    }
    return nodes;
  }

  /**
   * A line cut wherever something begins or ends.
   * @param {number} start
   * @param {number} end
   * @param {ReadProblem[]} problems
   * @returns {[from: number, to: number, event: ReadEvent | undefined][]}
   */
  _runs(start, end, problems) {
    const { events } = this._reading;
    const cuts = new Set([start, this._position, ...problems.flatMap(({ span }) => span)]);
    let at = firstAt(events, start);
    for (let next = at; next < events.length && /** @type {ReadEvent} */ (events[next]).span[0] < end; next += 1) {
      cuts.add(/** @type {ReadEvent} */ (events[next]).span[0]);
    }
    const places = [...cuts].filter((cut) => cut >= start && cut < end).sort((one, other) => one - other);
    return places.map((from, index) => {
      while (at < events.length && /** @type {ReadEvent} */ (events[at]).span[1] <= from) at += 1;
      const event = events[at];
      return [from, places[index + 1] ?? end, event && event.span[0] <= from ? event : undefined];
    });
  }
}
