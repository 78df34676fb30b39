/**
 * Numbered lines that a person decides by: a change, or a text. Nothing in them is out of sight.
 *
 *     14 - from build import pip_install
 *          208 unchanged lines (show)
 *          Show the other 800 lines
 *
 * Past `MANY` lines the first ones stand there, and a press shows the others. Until then the lines
 * are unseen, and there is no yes to them (`Unseen`). What is longer still scrolls in its own place.
 *
 * @module
 */

import { h } from "../dom.js";
import { exactText } from "../safe.js";

/** @typedef {{sign: string, number: number, text: string}} Line `@` is no line of the text */
/** @typedef {{lines: Line[], fold?: number}} Run lines to show, or `fold` unchanged ones */

const MANY = 200;
const FIRST = 40;
// More lines, or longer ones, scroll in a place of their own.
const TALL = 2000;
const LONG = 20_000;
const BLANK_RUN = 5;
const KINDS = new Map([["+", "add"], ["-", "del"], ["@", "gap"]]);

/** What of a card was not shown yet. */
export class Unseen {
  /** @type {Map<object, [number, number]>} */
  #left = new Map();
  /** @type {() => void} */
  changed = () => {};

  /** Why there is no yes yet; nothing once all was shown. */
  get words() {
    const [left, all] = [...this.#left.values()].reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
    if (left === 0) return "";
    return `${grouped(left)} of ${lineCount(all)} ${left === 1 ? "was" : "were"} not shown yet.`;
  }

  /**
   * @param {object} what
   * @param {number} left how many lines of it were not shown
   * @param {number} all
   */
  set(what, left, all) {
    if (left > 0) this.#left.set(what, [left, all]);
    else this.#left.delete(what);
    this.changed();
  }
}

/** @param {number} count */
export const lineCount = (count) => `${grouped(count)} line${count === 1 ? "" : "s"}`;

/** @param {number} count */
export const grouped = (count) => count.toLocaleString("en");

/**
 * The lines of a text, as they are counted: one that ends with a line feed has no empty line more.
 * @param {string} text
 */
export function linesOf(text) {
  const lines = text.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

/**
 * @param {Run[]} runs
 * @param {string} label
 * @param {Unseen} unseen
 * @param {(shown: string) => void} [tell] how many lines are shown: `all`, or a number
 * @returns {HTMLElement[]}
 */
export function rowsOf(runs, label, unseen, tell = () => {}) {
  const body = h("div", { class: "rows", role: "group", "aria-label": label });
  const drawn = runs.flatMap(rowsOfRun);
  const all = countOf(drawn);
  const isTall = drawn.length > TALL || drawn.reduce((sum, { size }) => sum + size, 0) > LONG;
  if (drawn.filter(({ count }) => count > 0).length <= MANY) {
    body.append(...drawn.map(({ draw }) => draw()));
    tell("all");
    return isTall ? [scrolling(body, label, all, unseen)] : [body];
  }
  const rest = drawn.splice(FIRST);
  body.append(...drawn.map(({ draw }) => draw()));
  const left = countOf(rest);
  unseen.set(body, left, all);
  tell(grouped(all - left));
  const button = h("button", { type: "button", class: "rest" }, `Show the other ${lineCount(left)}`);
  button.addEventListener("click", () => {
    body.append(...rest.map(({ draw }) => draw()));
    unseen.set(body, 0, all);
    tell("all");
    button.remove();
    if (isTall) scroll(body, label);
    body.tabIndex = isTall ? 0 : -1;
    body.focus({ preventScroll: true });
  });
  return [body, button];
}

/** @typedef {{count: number, size: number, draw: () => HTMLElement}} Row `count` lines that decide */

/** @param {Row[]} rows */
const countOf = (rows) => rows.reduce((sum, { count }) => sum + count, 0);

/** @param {Line} line */
const isLine = (line) => line.sign !== "@";

/**
 * A text that is long without having many lines: its end is seen once it was scrolled to.
 * @param {HTMLElement} body
 * @param {string} label
 * @param {number} all
 * @param {Unseen} unseen
 */
function scrolling(body, label, all, unseen) {
  scroll(body, label);
  unseen.set(body, all, all);
  const look = () => {
    if (body.scrollTop + body.clientHeight >= body.scrollHeight - 4) unseen.set(body, 0, all);
  };
  body.addEventListener("scroll", look, { passive: true });
  return body;
}

/**
 * @param {HTMLElement} body
 * @param {string} label
 */
function scroll(body, label) {
  body.classList.add("rows-tall");
  body.tabIndex = 0;
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", label);
}

/**
 * The rows of a run: its lines, blank ones taken together, or one fold of unchanged lines.
 * @param {Run} run
 * @returns {Row[]}
 */
function rowsOfRun({ lines, fold }) {
  if (!fold) return folded(lines);
  return [{ count: 0, size: 0, draw: () => unchanged(lines, fold) }];
}

/**
 * @param {Line[]} lines none where their text is not known
 * @param {number} fold how many there are
 */
function unchanged(lines, fold) {
  const words = `${grouped(fold)} unchanged line${fold === 1 ? "" : "s"}`;
  if (lines.length === 0) return h("p", { class: "run-words" }, words);
  const inside = h("div", {});
  const node = h("details", { class: "run" }, h("summary", {}, `${words} `, showWords()), inside);
  node.addEventListener("toggle", () => inside.childElementCount || inside.append(...lines.map(drawn)));
  return node;
}

export function showWords() {
  return h(
    "i",
    { class: "words" },
    h("span", { class: "when-closed" }, "(show)"),
    h("span", { class: "when-open" }, "(hide)"),
  );
}

/**
 * Runs of blank lines as one row that says how many there are: nothing is pushed away by them.
 * @param {Line[]} lines
 * @returns {Row[]}
 */
function folded(lines) {
  /** @type {Row[]} */
  const rows = [];
  for (let at = 0; at < lines.length; ) {
    const line = /** @type {Line} */ (lines[at]);
    let end = at;
    while (end < lines.length && isBlank(lines[end], line.sign)) end += 1;
    const count = end - at < BLANK_RUN ? 1 : end - at;
    const shown = count === 1 ? line : { ...line, text: `⟨${grouped(count)} blank lines⟩` };
    rows.push({ count: isLine(line) ? count : 0, size: shown.text.length, draw: () => drawn(shown) });
    at += count;
  }
  return rows;
}

/**
 * @param {Line | undefined} line
 * @param {string} sign
 */
const isBlank = (line, sign) => line !== undefined && isLine(line) && line.sign === sign && /^[ \t]*$/.test(line.text);

/** @param {Line} line */
function drawn({ sign, number, text }) {
  const said = sign === "@" || sign === "" ? exactText(text) : `${sign} ${exactText(text)}`;
  return h("span", { class: KINDS.get(sign) ?? null, "data-n": number || "" }, said);
}
