/**
 * A call and its result as a person reads them: redacted, on one line, cut to size.
 *
 *     read_file(path=a.txt, lines=[1, 2])
 *
 * Strings stand as they are, other values as JSON with sorted keys. One value is cut at 250
 * characters, all arguments at 1,200, a result at 500: `… (truncated, 2.3KB)` is the whole's size.
 *
 * @module
 */

import { beginning } from "./blanks.js";
import { isObject } from "./notes.js";
import { REDACTED, isSecretKey, redactStart } from "./redact.js";

const VALUE_LIMIT = 250;
const ARGUMENTS_LIMIT = 1200;
const RESULT_LIMIT = 500;
const KILO = 1024;
const CUT = /… \(truncated, ([0-9]+(?:\.[0-9])?[KM]?B)\)$/;
const DEEPEST = 200;

/**
 * The arguments of a call, `key=value, …`. What is no object is the one argument `value`.
 * @param {unknown} input
 * @returns {string}
 */
export function showArguments(input) {
  if (input === undefined || input === null) return "";
  const given = isObject(input) && !Array.isArray(input) ? input : { value: input };
  const shown = Object.entries(given).map(([key, value]) => `${oneLine(key)}=${showValue(key, value)}`);
  return limited(shown.join(", "), ARGUMENTS_LIMIT, "…");
}

/**
 * A result, at most 500 characters and then its whole size; nothing is an empty text.
 * @param {unknown} result
 * @returns {string}
 */
export function showResult(result) {
  const whole = result === undefined || result === null ? "" : compactText(result);
  const start = redactStart(whole, RESULT_LIMIT);
  return limited(start, RESULT_LIMIT, () => `… (truncated, ${sizeText(byteCount(whole))})`);
}

/**
 * A shown result without the note that it was cut, and the size that the note tells.
 * @param {string} shown
 * @returns {[string, string | null]}
 */
export function splitCut(shown) {
  const tail = Math.max(0, shown.length - 64);
  const found = CUT.exec(shown.slice(tail));
  return found ? [shown.slice(0, tail + found.index), found[1] ?? ""] : [shown, null];
}

/** @type {WeakMap<object, string>} Texts of values, which do not change once they are sent. */
const texts = new WeakMap();

/**
 * Any value in text: a string as it is, others as JSON.
 * @param {unknown} value
 * @returns {string}
 */
export function compactText(value) {
  if (typeof value === "string") return value;
  if (!isObject(value)) return scalar(value);
  let text = texts.get(value);
  if (text === undefined) {
    text = json(value, 0);
    texts.set(value, text);
  }
  return text;
}

/**
 * A number of bytes: `512B`, `2.3KB`, `10.0MB`.
 * @param {number} size
 * @returns {string}
 */
export function sizeText(size) {
  if (!(size >= 0)) return "";
  if (size < KILO) return `${Math.trunc(size)}B`;
  // Rounded first: 1048575 bytes are 1.0MB, not 1024.0KB.
  const kilos = Math.floor((size * 10 + KILO / 2) / KILO);
  if (kilos < KILO * 10) return `${tenths(kilos)}KB`;
  return `${tenths(Math.floor((size * 10 + (KILO * KILO) / 2) / (KILO * KILO)))}MB`;
}

/**
 * How many bytes a text has in UTF-8.
 * @param {string} text
 * @returns {number}
 */
export function byteCount(text) {
  return new TextEncoder().encode(text).length;
}

/**
 * Text without line breaks.
 * @param {string} text
 * @returns {string}
 */
export function oneLine(text) {
  return text.replace(/[\r\n]/g, " ");
}

/** @param {number} count */
const tenths = (count) => `${Math.floor(count / 10)}.${count % 10}`;

/**
 * @param {string} key
 * @param {unknown} value
 */
function showValue(key, value) {
  const isPlain = typeof value === "boolean" || value === null || value === undefined;
  if (isSecretKey(key) && !isPlain) return REDACTED;
  return limited(oneLine(redactStart(compactText(value), VALUE_LIMIT)), VALUE_LIMIT, "…");
}

/**
 * @param {string} text
 * @param {number} limit
 * @param {string | (() => string)} mark
 */
function limited(text, limit, mark) {
  const [start, isAll] = beginning(text, limit);
  return isAll ? text : start + (typeof mark === "string" ? mark : mark());
}

/** @param {unknown} value */
function scalar(value) {
  return typeof value === "string" ? JSON.stringify(value) : String(value ?? null);
}

/**
 * JSON as the server writes it: sorted keys, a blank after each comma and colon.
 * @param {unknown} value
 * @param {number} depth
 * @returns {string}
 */
function json(value, depth) {
  if (!isObject(value)) return scalar(value);
  if (depth > DEEPEST) return "…";
  if (Array.isArray(value)) return `[${value.map((one) => json(one, depth + 1)).join(", ")}]`;
  const keys = Object.keys(value).sort(byCodePoint);
  return `{${keys.map((key) => `${scalar(key)}: ${json(value[key], depth + 1)}`).join(", ")}}`;
}

/**
 * @param {string} one
 * @param {string} other
 */
function byCodePoint(one, other) {
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((char, index) => char !== right[index]);
  if (at < 0) return left.length - right.length;
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
