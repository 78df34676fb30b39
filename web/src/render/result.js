/**
 * A result as people read it: JSON as a tree, rows as a table, a command's output as lines.
 *
 *     JSON · 2.3KB                         [Tree] [Raw]
 *       station: "Holm Island"
 *     › forecast: 28 items
 *
 *     terminal · exit 2 · 4 lines, 2 to the error stream
 *
 * Text that is none of these stays as it was: its first lines, and a way to the rest. What a person
 * sees is redacted as it is in a line; *Raw* and *Copy* give what the tool gave.
 *
 * @module
 */

import { plainLines, wholeText } from "../display.js";
import { h, set } from "../dom.js";
import { isObject } from "../notes.js";
import { REDACTED, isSecretKey, redactStart } from "../redact.js";
import { visible, visibleLine } from "../safe.js";
import { byteCount, sizeText } from "../shown.js";

/** @typedef {import("../types.js").Call} Call */

// What is larger is read in its preview, or on the timeline.
const LARGEST = 200_000;
const LONGEST_VALUE = 2000;
const ITEMS = 100;
const ROWS = 4;
const COLUMNS = 40;
const LINES = 12;
const DEEPEST = 40;

/**
 * @param {Call} call which is done
 * @returns {HTMLElement | null} null for what is read as text
 */
export function resultOf(call) {
  const value = valueOf(call.output);
  if (value === undefined || call.more) return null;
  const text = wholeText(call);
  if (text.length > LARGEST) return null;
  const printed = terminalOf(value);
  if (printed) return printed;
  return tableOf(value) ?? treeOf(value, text);
}

/**
 * An object or a list, also one that is written as JSON.
 * @param {unknown} output
 */
function valueOf(output) {
  if (isObject(output)) return output;
  if (typeof output !== "string" || output.length > LARGEST || !/^\s*[[{]/.test(output)) return undefined;
  try {
    const value = JSON.parse(output);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} words
 * @param {...(Node | null | false)} more
 */
const head = (words, ...more) => h("div", { class: "res-head" }, h("span", {}, words), ...more);

// --- JSON ---

/**
 * @param {object} value
 * @param {string} text
 */
function treeOf(value, text) {
  const tree = branch(value, 0);
  const raw = h("pre", { class: "call-result" });
  raw.hidden = true;
  const button = (/** @type {string} */ words, /** @type {boolean} */ isTree) => {
    const node = h("button", { type: "button", class: "btn small", "data-kind": "quiet", "aria-pressed": String(isTree) }, words);
    node.addEventListener("click", () => {
      if (!isTree && !raw.textContent) raw.textContent = visible(text);
      tree.hidden = !isTree;
      raw.hidden = isTree;
      for (const one of both.children) set(one, "aria-pressed", String(one === node));
    });
    return node;
  };
  const both = h("span", { class: "seg-2 end", role: "group", "aria-label": "Show as" }, button("Tree", true), button("Raw", false));
  return h("div", { class: "res" }, head(`JSON · ${sizeText(byteCount(text))}`, both), tree, raw);
}

/**
 * @param {any} value
 * @param {number} depth
 * @returns {HTMLElement}
 */
function branch(value, depth) {
  const entries = Array.isArray(value) ? value.map((one) => /** @type {[string, unknown]} */ (["", one])) : Object.entries(value);
  const list = h("ul", { class: "tree" });
  const show = (/** @type {number} */ from) => {
    const some = entries.slice(from, from + ITEMS);
    list.append(...some.map(([key, one]) => leaf(key, one, depth)));
    const left = entries.length - from - some.length;
    if (left <= 0) return;
    const more = h("button", { type: "button", class: "call-more" }, `... (${left} more items)`);
    const item = h("li", {}, more);
    more.addEventListener("click", () => (item.remove(), show(from + ITEMS)));
    list.append(item);
  };
  show(0);
  return list;
}

/**
 * @param {string} key
 * @param {unknown} value
 * @param {number} depth
 */
function leaf(key, value, depth) {
  const name = key ? [h("span", { class: "key" }, visibleLine(key))] : [];
  if (key && isSecretKey(key) && typeof value !== "boolean" && value !== null) return h("li", {}, ...name, h("span", { class: "s" }, REDACTED));
  if (!isObject(value) || depth > DEEPEST) return h("li", {}, ...name, scalar(value));
  const many = Array.isArray(value) ? count(value.length, "item") : count(Object.keys(value).length, "field");
  const fold = h("details", {}, h("summary", {}, ...name, h("span", { class: "many" }, many)));
  // What is folded is made when it opens.
  fold.addEventListener("toggle", () => fold.open && fold.childElementCount === 1 && fold.append(branch(value, depth + 1)));
  return h("li", {}, fold);
}

/** @param {unknown} value */
function scalar(value) {
  if (typeof value === "string") return h("span", { class: "s" }, visible(JSON.stringify(redactStart(value, LONGEST_VALUE)).replaceAll("\\n", "\n")) + (value.length > LONGEST_VALUE ? "…" : ""));
  const kind = typeof value === "number" ? "n" : "k";
  return h("span", { class: kind }, isObject(value) ? "…" : String(value));
}

/**
 * @param {number} many
 * @param {string} word
 */
const count = (many, word) => `${many.toLocaleString("en")} ${word}${many === 1 ? "" : "s"}`;

// --- Tables ---

/**
 * A list of flat objects that mostly share their fields.
 * @param {unknown} value
 */
function tableOf(value) {
  if (!Array.isArray(value) || value.length < 2) return null;
  const isFlat = (/** @type {any} */ row) => isObject(row) && !Array.isArray(row) && Object.values(row).every((one) => !isObject(one));
  if (!value.every(isFlat)) return null;
  const columns = [...new Set(value.slice(0, ITEMS).flatMap((row) => Object.keys(row)))];
  if (columns.length === 0 || columns.length > COLUMNS) return null;
  const isNumber = columns.map((name) => value.every((row) => row[name] === undefined || row[name] === null || typeof row[name] === "number"));
  const body = h("tbody", {});
  const cell = (/** @type {any} */ row, /** @type {string} */ name, /** @type {number} */ at) =>
    h("td", { class: isNumber[at] ? "num" : null }, row[name] === undefined || row[name] === null ? "" : isSecretKey(name) ? REDACTED : visibleLine(redactStart(String(row[name]), LONGEST_VALUE)));
  const show = (/** @type {number} */ to) =>
    body.append(...value.slice(body.childElementCount, to).map((row) => h("tr", {}, ...columns.map((name, at) => cell(row, name, at)))));
  show(ROWS);
  const words = (/** @type {number} */ shown) => `table · ${count(value.length, "row")} × ${count(columns.length, "column")}${shown < value.length ? `, ${shown} shown` : ""}`;
  const said = h("span", {}, words(Math.min(ROWS, value.length)));
  const all = h("button", { type: "button", class: "btn small end", "data-kind": "quiet" }, "All rows");
  all.hidden = value.length <= ROWS;
  all.addEventListener("click", () => {
    show(Math.min(value.length, 1000));
    said.textContent = words(body.childElementCount);
    all.hidden = true;
  });
  const table = h("table", {}, h("thead", {}, h("tr", {}, ...columns.map((name, at) => h("th", { class: isNumber[at] ? "num" : null }, visibleLine(name))))), body);
  const place = h("div", { class: "table", tabindex: "0", role: "group", "aria-label": words(value.length) }, table);
  return h("div", { class: "res" }, h("div", { class: "res-head" }, said, all), place);
}

// --- What a command printed ---

/** @param {any} value */
function terminalOf(value) {
  const { exit_code: exit, stdout = "", stderr = "", ...rest } = value;
  const isPrinted = (typeof exit === "number" || exit === null) && typeof stdout === "string" && typeof stderr === "string";
  if (!isPrinted || Array.isArray(value)) return null;
  const out = plainLines(stdout);
  const err = plainLines(stderr);
  const all = out.length + err.length;
  const said = ["terminal", exit === null ? "did not end" : `exit ${exit}`, `${count(all, "line")}${err.length ? `, ${err.length} to the error stream` : ""}`].join(" · ");
  const lines = [...out.map((text) => line(text, false)), ...err.map((text) => line(text, true))];
  const term = h("div", { class: "term" }, ...lines.slice(0, LINES));
  const left = lines.length - LINES;
  const more = h("button", { type: "button", class: "call-more" }, `Show ${count(left, "more line")}`);
  more.addEventListener("click", () => {
    term.append(...lines.slice(LINES));
    more.remove();
  });
  const others = Object.keys(rest).length > 0 && branch(rest, 0);
  return h("div", { class: "res" }, head(said), term, left > 0 && more, others);
}

/**
 * @param {string} text
 * @param {boolean} isError
 */
function line(text, isError) {
  const safe = visible(redactStart(text, LONGEST_VALUE));
  return isError ? h("span", { class: "err" }, h("span", { class: "sr" }, "error stream: "), safe) : h("span", {}, safe);
}
