/**
 * The exact arguments of a call, one below the other: nothing is cut.
 *
 * @module
 */

import { h } from "../dom.js";
import { visible, visibleLine } from "../safe.js";

/**
 * @param {unknown} input
 * @returns {HTMLElement | null} nothing where there are no arguments
 */
export function argsOf(input) {
  const rows = Object.entries(asMapping(input));
  if (rows.length === 0) return null;
  const list = h("dl", { class: "args" });
  for (const [key, value] of rows) {
    list.append(h("dt", {}, visibleLine(key)), h("dd", {}, visible(textOf(value))));
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
  if (value === "") return '""';
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? String(value);
}
