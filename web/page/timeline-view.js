/**
 * The model's view, by segments; each knows the blocks that it shows.
 *
 *     view.show(segments);     view.mark(10)     the segments of block 10, the first one in view
 */

import { h } from "../src/dom.js";
import { visible } from "../src/safe.js";
import { LazyChunks } from "./lazy-chunks.js";

/** @typedef {{seqs: number[], kind: string, text: string, tokens: number, hidden: number[], frozen: boolean}} Segment */

const MANY = 20;
const LONG = 12_000;
const SHOWN = 20_000;
const HEAD = /^\[[^\]\n]{1,300}\](?:\.\w+|:)?/;

export class SegmentView {
  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} box
   * @param {(seq: number) => void} picked
   */
  constructor(scroller, box, picked) {
    this._scroller = scroller;
    this._box = box;
    this._picked = picked;
    /** @type {Segment[]} */
    this.segments = [];
    /** @type {Segment[][]} */
    this._groups = [];
    this._selected = 0;
    this._chunks = new LazyChunks(scroller, box, { render: (group) => group.map((one) => this._segment(one)), height: heightOf });
    box.addEventListener("click", (event) => this._click(event));
    scroller.addEventListener("keydown", (event) => this._key(event));
  }

  /** @param {Segment[]} segments those that did not change are the same objects */
  show(segments) {
    this.segments = segments;
    this._groups = groupsOf(segments, this._groups);
    this._chunks.show(this._groups);
    if (!segments.length) this._box.dataset.empty = "The model is shown nothing yet.";
    else delete this._box.dataset.empty;
  }

  /**
   * Mark the segments of a block.
   * @param {number} seq
   * @param {boolean} [isMoved] into view
   */
  mark(seq, isMoved = true) {
    this._selected = seq;
    for (const node of this._box.querySelectorAll(".seg")) node.toggleAttribute("data-on", holds(node, seq));
    const at = this._groups.findIndex((group) => group.some((one) => one.seqs.includes(seq)));
    if (at < 0 || !isMoved) return;
    this._chunks.reveal(at);
    this._into(at);
    // What is built on the way has other heights than was thought.
    requestAnimationFrame(() => this._into(at));
  }

  /** @param {number} at */
  _into(at) {
    const node = [...(this._chunks.reveal(at)?.children ?? [])].find((one) => one.hasAttribute("data-on"));
    if (!node) return;
    const box = this._scroller.getBoundingClientRect();
    const { top, bottom } = node.getBoundingClientRect();
    const fits = top >= box.top && bottom <= box.bottom;
    if (!fits && box.height) this._scroller.scrollTop += top - box.top - Math.min(48, box.height / 4);
  }

  /** @param {MouseEvent} event */
  _click(event) {
    if (getSelection()?.toString()) return;
    const node = /** @type {Element} */ (event.target).closest(".seg");
    const seqs = seqsOf(node);
    if (seqs.length) this._picked(seqs[(seqs.indexOf(this._selected) + 1) % seqs.length] ?? 0);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== this._scroller || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const own = (/** @type {Segment} */ one) => one.seqs.includes(this._selected);
    const at = step > 0 ? this.segments.findLastIndex(own) : this.segments.findIndex(own);
    const next = this.segments[Math.max(0, at + step)];
    const seq = next?.seqs.find((one) => one !== this._selected) ?? next?.seqs[0];
    if (seq) this._picked(seq);
  }

  /** @param {Segment} segment */
  _segment({ seqs, text, hidden }) {
    const shown = visible(text.slice(0, SHOWN)).replace(/\n$/, "");
    const head = HEAD.exec(shown)?.[0] ?? "";
    const rest = shown.slice(head.length);
    const more = text.length > SHOWN ? h("span", { class: "dim" }, ` … ${(text.length - SHOWN).toLocaleString("en")} more characters`) : null;
    const props = { class: "seg", "data-seqs": seqs.join(" "), "data-hidden": hidden.length > 0, "data-on": seqs.includes(this._selected) };
    return h("pre", props, head && h("b", {}, head), rest, more);
  }
}

/** @param {Element | null} node */
const seqsOf = (node) => (node?.getAttribute("data-seqs") ?? "").split(" ").filter(Boolean).map(Number);

/**
 * @param {Element} node
 * @param {number} seq
 */
const holds = (node, seq) => seqsOf(node).includes(seq);

/**
 * Segments by groups; a group that is as it was stays the same object.
 * @param {Segment[]} segments
 * @param {Segment[][]} before
 */
function groupsOf(segments, before) {
  /** @type {Segment[][]} */
  const groups = [];
  let size = Infinity;
  for (const one of segments) {
    if (size > LONG || (groups.at(-1)?.length ?? MANY) >= MANY) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(one);
    size += one.text.length;
  }
  return groups.map((group, at) => {
    const old = before[at];
    return old?.length === group.length && old.every((one, place) => one === group[place]) ? old : group;
  });
}

/** @param {Segment[]} group */
function heightOf(group) {
  const lines = group.map(({ text }) => Math.min(400, Math.ceil(text.length / 70) + text.split("\n", 400).length));
  return lines.reduce((sum, one) => sum + one * 20 + 16, 0);
}
