/**
 * Characters and blanks as the server counts them: a character is a code point, and a blank is
 * what Unicode says, so that a page breaks and cuts where every other view does.
 *
 * @module
 */

export const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SOLID = new RegExp(`[^${BLANK}]`);
const FRONT = new RegExp(`^[${BLANK}]+`);
const BACK = new RegExp(`[${BLANK}]$`);

/**
 * Whether a text shows nothing.
 * @param {string} text
 * @returns {boolean}
 */
export function isBlank(text) {
  return !SOLID.test(text);
}

/**
 * @param {string} text
 * @returns {string}
 */
export function strip(text) {
  return stripEnd(text.replace(FRONT, ""));
}

/**
 * Each blank is looked at once: a pattern for all of them would try each of a long run.
 * @param {string} text
 * @returns {string}
 */
export function stripEnd(text) {
  let end = text.length;
  while (end && BACK.test(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

/**
 * How many characters a text has; one that has more than `most` is not counted to its end.
 * @param {string} text
 * @param {number} [most]
 * @returns {number}
 */
export function count(text, most = Infinity) {
  let found = 0;
  for (const _ of text) {
    found += 1;
    if (found > most) break;
  }
  return found;
}

/**
 * The first characters of a text, and whether that is all of it.
 * @param {string} text
 * @param {number} limit
 * @returns {[string, boolean]}
 */
export function beginning(text, limit) {
  if (text.length <= limit) return [text, true];
  let at = 0;
  for (let found = 0; found < limit && at < text.length; found += 1) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return [text.slice(0, at), at === text.length];
}
