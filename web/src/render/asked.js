/**
 * What a card shows: the line that decides, the change, the other arguments, the whole call.
 *
 *     tools/release.py +10 −4, 405 lines stay        a command of 5 lines, 186 characters
 *
 * Nothing is cut: what is long is folded, and counts as unseen until it was opened, unless the
 * change before it says the same.
 *
 * @module
 */

import { h } from "../dom.js";
import { exactText, visibleLine } from "../safe.js";
import { byteCount, compactText, sizeText } from "../shown.js";
import { diffsOf } from "./diff.js";
import { grouped, lineCount, linesOf, rowsOf, showWords, Unseen } from "./rows.js";

/** @typedef {import("../types.js").Approval} Approval */

// A text that reads like another value stands in quotes; a long integer comes as its digits.
const SCALAR = /^(?!-?\d{16,}$)(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|".*")$/i;
const COMMANDS = new Set(["command", "code", "script", "cmd", "commands"]);
const LONG = 400;

/**
 * @param {Approval} approval
 * @param {Unseen} unseen
 * @returns {{deciding: HTMLElement, parts: HTMLElement[]}}
 */
export function askedOf(approval, unseen) {
  const given = Object.entries(asMapping(approval.input)).map(([key, value]) => ({ key, text: textOf(value) }));
  const preview = approval.preview ?? "";
  const diffs = diffsOf(preview, given.map(({ text }) => text));
  const isTold = diffs.length > 0;
  const large = given.filter(isLarge);
  const small = given.filter((one) => !isLarge(one));
  const parts = diffs.map((diff) => diff.draw(unseen));
  if (!isTold && preview.trim()) parts.push(textFigure("what it would do", preview, unseen));
  if (!isTold) parts.push(...large.map(({ key, text }) => textFigure(key, text, unseen)));
  // The path of a change is its name already, but every argument that is given is seen.
  const args = argsOf(small);
  if (args) parts.push(args);
  if (isTold && large.length > 0) parts.push(wholeOf(large, isSaidBy(diffs, large) ? new Unseen() : unseen));
  return { deciding: decidingOf(diffs, large, small), parts };
}

/** @typedef {{key: string, text: string}} Given */

/** @param {Given} given */
const isLarge = ({ key, text }) => text.includes("\n") || text.length > LONG || COMMANDS.has(key);

/**
 * Whether a change says all of the large arguments: then they need not be looked at again.
 * @param {import("./diff.js").Diff[]} diffs
 * @param {Given[]} large
 */
function isSaidBy(diffs, large) {
  const [diff] = diffs;
  const lines = linesOf(large[0]?.text ?? "").length;
  return diffs.length === 1 && large.length === 1 && diff !== undefined
    && (diff.isNew ? diff.added === lines : diff.stay !== null && diff.stay + diff.added === lines);
}

/**
 * @param {import("./diff.js").Diff[]} diffs
 * @param {Given[]} large
 * @param {Given[]} small
 */
function decidingOf(diffs, large, small) {
  const [diff] = diffs;
  if (diff) {
    const more = diffs.length > 1 ? ` and ${diffs.length - 1} more` : "";
    const stay = diff.isNew ? ", a new file" : diff.stay === null ? "" : `, ${lineCount(diff.stay)} ${diff.stay === 1 ? "stays" : "stay"}`;
    const line = h("span", {}, h("code", {}, visibleLine(diff.name)), " ", h("span", { class: "sr" }, "changes: "));
    if (diff.added) line.append(h("span", { class: "add-count" }, `+${grouped(diff.added)}`), diff.gone ? " " : "");
    if (diff.gone) line.append(h("span", { class: "del-count" }, `−${grouped(diff.gone)}`));
    line.append(`${stay}${more}`);
    return line;
  }
  const [text] = large;
  if (text) return h("span", {}, `${visibleLine(text.key)}: ${sizeOf(text.text)}`);
  const [first] = small;
  return h("span", {}, first ? h("code", {}, exactText(first.text)) : "no arguments");
}

/** @param {string} text */
function sizeOf(text) {
  const characters = [...text].length;
  return `${lineCount(linesOf(text).length)} · ${grouped(characters)} character${characters === 1 ? "" : "s"}`;
}

/**
 * @param {string} key
 * @param {string} text
 * @param {Unseen} unseen
 */
function textFigure(key, text, unseen) {
  const shown = h("span", {});
  const lines = linesOf(text).map((one, at) => ({ sign: "", number: at + 1, text: one }));
  const label = `${visibleLine(key)}, ${lineCount(lines.length)}`;
  const tell = (/** @type {string} */ count) => {
    shown.textContent = `${sizeOf(text)}, ${count} shown`;
  };
  const rows = rowsOf([{ lines }], label, unseen, tell);
  return h("figure", { class: "cmd" }, h("figcaption", {}, h("b", {}, visibleLine(key)), shown), ...rows);
}

/**
 * The whole of the arguments, folded: it scrolls in its own place.
 * @param {Given[]} large
 * @param {Unseen} unseen
 */
function wholeOf(large, unseen) {
  const lines = large.reduce((sum, { text }) => sum + linesOf(text).length, 0);
  const size = large.reduce((sum, { text }) => sum + byteCount(text), 0);
  const names = large.map(({ key }) => visibleLine(key)).join(", ");
  const about = `${names} · ${lineCount(lines)} · ${sizeText(size)}`;
  const summary = h("summary", {}, h("span", {}, "The whole call"), h("span", { class: "muted" }, about), showWords());
  const fold = h("details", { class: "whole" }, summary);
  unseen.set(fold, lines, lines);
  fold.addEventListener("toggle", () => {
    if (fold.childElementCount > 1) return;
    const all = { class: "whole-text", tabindex: "0", role: "region", "aria-label": about };
    fold.append(h("div", all, ...large.map(({ key, text }) => wholeFigure(key, text))));
    unseen.set(fold, 0, lines);
  });
  return fold;
}

/**
 * @param {string} key
 * @param {string} text
 */
function wholeFigure(key, text) {
  const rows = linesOf(text).map((one, at) => h("span", { "data-n": at + 1 }, exactText(one)));
  return h("figure", { class: "cmd" }, h("figcaption", {}, h("b", {}, visibleLine(key))), h("div", { class: "rows" }, ...rows));
}

/**
 * @param {Given[]} given
 * @returns {HTMLElement | null} nothing where there are no arguments
 */
function argsOf(given) {
  if (given.length === 0) return null;
  const list = h("dl", { class: "args" });
  for (const { key, text } of given) {
    list.append(h("dt", {}, exactText(quoted(key))), h("dd", {}, exactText(text)));
  }
  return list;
}

/**
 * @param {unknown} input
 * @returns {Record<string, unknown>}
 */
function asMapping(input) {
  if (input === undefined || input === null) return {};
  const isMapping = typeof input === "object" && !Array.isArray(input);
  return isMapping ? /** @type {Record<string, unknown>} */ (input) : { value: input };
}

/** @param {unknown} value */
function textOf(value) {
  if (typeof value === "string") return SCALAR.test(value) ? JSON.stringify(value) : quoted(value);
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    // It is too deep for the browser.
    return compactText(value);
  }
}

/**
 * A text on one line, in quotes where its first or last characters would not be seen.
 * @param {string} text
 */
function quoted(text) {
  if (text.includes("\n")) return text;
  return text === "" || /^\s/.test(text) || /\s$/.test(text) ? JSON.stringify(text) : text;
}
