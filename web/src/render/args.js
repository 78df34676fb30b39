/**
 * The exact arguments of a call, one below the other: nothing is cut.
 *
 * @module
 */

import { h } from "../dom.js";
import { visible, visibleLine } from "../safe.js";
import { compactText } from "../shown.js";

// A text that reads like another value stands in quotes; a long integer comes as its digits.
const SCALAR = /^(?!-?\d{16,}$)(?:true|false|null|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|".*")$/i;

/**
 * @param {unknown} input
 * @returns {HTMLElement | null} nothing where there are no arguments
 */
export function argsOf(input) {
  const rows = Object.entries(asMapping(input));
  if (rows.length === 0) return null;
  const list = h("dl", { class: "args" });
  for (const [key, value] of rows) {
    list.append(h("dt", {}, visibleLine(exact(key))), h("dd", {}, visible(textOf(value))));
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
  if (typeof value === "string") return SCALAR.test(value) ? JSON.stringify(value) : exact(value);
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    // It is too deep for the browser.
    return compactText(value);
  }
}

/**
 * A text, in quotes where its first or last characters would not be seen.
 * @param {string} text
 */
function exact(text) {
  const [first = ""] = text.split("\n", 1);
  return text === "" || /^\s/.test(first) || /[^\S\n]$/.test(text) ? JSON.stringify(text) : text;
}
