/**
 * A row of the table of blocks, and a block as JSON.
 */

import { h } from "../src/dom.js";
import { visible, visibleLine } from "../src/safe.js";
import { sizeText } from "../src/shown.js";
import { sizeOf } from "./timeline-blocks.js";

/** @typedef {import("./timeline-blocks.js").Row} Row */
/** @typedef {import("./timeline-blocks.js").Entry} Entry */
/** @typedef {import("./timeline-blocks.js").Tag} Tag */

const KINDS = { hidden: null, error: "fail", running: "run" };
const SHOWN = 20_000;
const KEY = /^(\s*)("(?:[^"\\]|\\.)*")(?=: )/gm;

/** The id of the row of a block. @param {number} seq */
export const rowId = (seq) => `block-${seq}`;

/**
 * @param {Row} row
 * @param {number} at
 * @param {object} how
 * @param {(entry: Entry) => Tag[]} how.tags
 * @param {number} how.selected
 */
export function tableRow(row, at, { tags, selected }) {
  const index = { "aria-rowindex": at + 2 };
  if (row.kind === "turn") return h("tr", { class: "turn", ...index }, h("td", { colspan: 5 }, visibleLine(row.words)));
  if (row.kind === "cache") return h("tr", { class: "cache", ...index }, h("td", { colspan: 5 }, "Cache point. Blocks above are frozen."));
  const { seq, hash, block } = row.entry;
  const own = tags(row.entry);
  return h(
    "tr",
    { id: rowId(seq), "data-seq": seq, "data-hidden": own.includes("hidden"), "aria-selected": String(seq === selected), ...index },
    h("td", { class: "r" }, String(seq)),
    h("td", { class: "nb type" }, visibleLine(block.type), ...own.map((tag) => h("b", { class: "tag", "data-kind": KINDS[tag] }, tag))),
    h("td", { class: "under" }, h("bdi", {}, visibleLine(block.path ?? ""))),
    h("td", { class: "r nb size" }, sizeText(sizeOf(block))),
    h("td", { class: "hash dim nb" }, visibleLine(hash.slice(0, 8))),
  );
}

/**
 * A block as it is stored, its fields marked.
 * @param {Entry} entry
 * @returns {(Node | string)[]}
 */
export function blockJson({ seq, hash, block }) {
  const whole = JSON.stringify({ seq, hash, ...block }, null, 2);
  const text = visible(whole.slice(0, SHOWN));
  /** @type {(Node | string)[]} */
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(KEY)) {
    const at = found.index + (found[1]?.length ?? 0);
    nodes.push(text.slice(from, at), h("b", {}, found[2]));
    from = at + (found[2]?.length ?? 0);
  }
  nodes.push(text.slice(from));
  if (whole.length > SHOWN) nodes.push(h("span", { class: "dim" }, ` … ${(whole.length - SHOWN).toLocaleString("en")} more characters`));
  return nodes;
}
