/**
 * The bodies of a preview: a picture, a document, prose, a table, lines.
 */

import { sizeText } from "../src/display.js";
import { h } from "../src/dom.js";
import { markdown } from "../src/markdown.js";
import { visible, visibleLine } from "../src/safe.js";
import { betweenCells, readTable } from "./table-text.js";

export const MOST_BYTES = 512 * 1024;
const MOST_LINES = 3000;
const MOST_ROWS = 500;
const MOST_CELLS = 40;
const LONGEST_CELL = 400;
// No two parts of it match the same blank: a cell may be of any length.
const NUMBER = /^\s*(?:[-+\d.,%][\d.,\s%]*)?$/;

/**
 * @param {string} href
 * @param {string} name
 */
export function pictureView(href, name) {
  return h("div", { class: "look picture" }, h("img", { src: href, alt: name }));
}

/**
 * @param {string} href
 * @param {string} name
 */
export function pdfView(href, name) {
  return h("iframe", { class: "look pdf", src: href, title: name });
}

/** @param {string} text */
export function markdownView(text) {
  const prose = h("div", { class: "prose" });
  prose.append(markdown(text));
  return region("Document", prose);
}

/**
 * Text with the numbers of its lines.
 * @param {string} text
 */
export function linesView(text) {
  const lines = visible(text).replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, MOST_LINES).map((line) => h("span", { class: "ln" }, line || "\n"));
  const view = region("Text", h("pre", { class: "src" }, ...shown));
  return { view, note: more(lines.length, shown.length, "lines") };
}

/**
 * @param {string} text
 * @param {string} name
 */
export function tableView(text, name) {
  const rows = readTable(text, betweenCells(text, name), 100_000);
  const [head = [], ...body] = rows;
  const shown = body.slice(0, MOST_ROWS);
  const width = Math.max(head.length, ...shown.map((row) => row.length));
  const columns = Array.from({ length: Math.min(width, MOST_CELLS) }, (_, at) => at);
  const isNumber = columns.map((at) => shown.length > 0 && shown.every((row) => NUMBER.test(row[at] ?? "")));
  const cell = (/** @type {"th" | "td"} */ tag, /** @type {string[]} */ row) => (/** @type {number} */ at) =>
    h(tag, { class: isNumber[at] && "r", scope: tag === "th" && "col" }, visibleLine((row[at] ?? "").slice(0, LONGEST_CELL)));
  const table = h(
    "table",
    { class: "cells" },
    h("thead", {}, h("tr", {}, ...columns.map(cell("th", head)))),
    h("tbody", {}, ...shown.map((row) => h("tr", {}, ...columns.map(cell("td", row))))),
  );
  const notes = [more(body.length, shown.length, "rows"), more(width, columns.length, "columns")];
  return { view: region("Table", table), note: notes.filter(Boolean).join(" ") };
}

/**
 * What there is to say where only a piece of a file was read.
 * @param {number} read
 * @param {number} size
 */
export function cutNote(read, size) {
  return read < size ? `The first ${sizeText(read)} of ${sizeText(size)}; download it to see all.` : "";
}

/**
 * @param {number} all
 * @param {number} shown
 * @param {string} what
 */
function more(all, shown, what) {
  return all > shown ? `The first ${shown} of ${all} ${what}.` : "";
}

/**
 * @param {string} label
 * @param {Node} inside
 */
function region(label, inside) {
  return h("div", { class: "look", tabindex: "0", role: "region", "aria-label": label }, inside);
}
