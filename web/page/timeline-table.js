/**
 * The table of blocks: those that fit the filter, one of them chosen, and keys that go through them.
 *
 *     const table = new BlockTable(blocks, (seq) => …);
 *     table.list();    table.choose(12)
 */

import { h } from "../src/dom.js";
import { RowWindow } from "./row-window.js";
import { part } from "./timeline-bar.js";
import { rowId, tableRow } from "./timeline-rows.js";

/** @typedef {import("./timeline-blocks.js").Row} Row */

const WAIT = 150;
/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

export class BlockTable {
  /**
   * @param {import("./timeline-blocks.js").Blocks} blocks
   * @param {(seq: number) => void} picked
   */
  constructor(blocks, picked) {
    this.blocks = blocks;
    this.selected = 0;
    this._picked = picked;
    /** @type {Row[]} */
    this._rows = [];
    /** @type {Map<number, number>} */
    this._places = new Map();
    this._table = part("raw", "table");
    this._scroller = part("raw-body", "div");
    this._window = new RowWindow(this._scroller, this._table, (at) => this._row(at));
    this._listen();
  }

  _listen() {
    let timer = 0;
    part("find", "input").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.list(), WAIT);
    });
    part("type", "select").addEventListener("change", () => this.list());
    part("hidden", "input").addEventListener("change", () => this.list());
    this._table.addEventListener("click", (event) => this._click(event));
    this._table.addEventListener("keydown", (event) => this._key(event));
  }

  /** List what fits the filter; who is at the end stays there. */
  list() {
    const scroller = this._scroller;
    const isAtEnd = scroller.scrollTop > 0 && scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 4;
    this._offerTypes();
    this._rows = this.blocks.rows({
      type: part("type", "select").value,
      words: part("find", "input").value.trim().toLowerCase(),
      withHidden: part("hidden", "input").checked,
    });
    this._places = placesOf(this._rows);
    this._table.setAttribute("aria-rowcount", String(this._rows.length + 1));
    this._window.show(this._rows.length);
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
    const all = this.blocks.entries.length.toLocaleString("en");
    part("count", "span").textContent = `${this._places.size.toLocaleString("en")} of ${all}`;
  }

  /**
   * Mark the row of a block.
   * @param {number} seq
   */
  choose(seq) {
    this.selected = seq;
    this.reveal();
    for (const row of this._window.rows.values()) {
      if (row.dataset.seq) row.setAttribute("aria-selected", String(row.dataset.seq === String(seq)));
    }
    this._table.setAttribute("aria-activedescendant", rowId(seq));
  }

  /** Bring the row of the block that is chosen into view. */
  reveal() {
    const place = this._places.get(this.selected);
    if (place !== undefined) this._window.reveal(place);
  }

  _offerTypes() {
    const choice = part("type", "select");
    if (choice.options.length === this.blocks.types.size + 1) return;
    const chosen = choice.value;
    const known = [...this.blocks.types].sort();
    choice.replaceChildren(h("option", { value: "" }, "all"), ...known.map((type) => h("option", { value: type }, type)));
    choice.value = chosen;
  }

  /** @param {number} at */
  _row(at) {
    const row = /** @type {Row} */ (this._rows[at]);
    return tableRow(row, at, { tags: (entry) => this.blocks.tags(entry), selected: this.selected });
  }

  /** @param {MouseEvent} event */
  _click(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr[data-seq]"));
    if (row) this._picked(Number(row.dataset.seq));
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const seqs = [...this._places.keys()];
    const at = seqs.indexOf(this.selected);
    const seq = seqs[Math.max(0, Math.min(seqs.length - 1, at < 0 && step === 1 ? 0 : at + step))];
    if (seq !== undefined) this._picked(seq);
  }
}

/**
 * Where the row of each block is.
 * @param {Row[]} rows
 */
function placesOf(rows) {
  /** @type {Map<number, number>} */
  const places = new Map();
  rows.forEach((row, at) => row.kind === "block" && places.set(row.entry.seq, at));
  return places;
}
