/**
 * What stands written in chat text, read back as it was shown.
 *
 *     read_file(path=a&amp;b.txt)      read_file(path=a&b.txt)
 *     @\u200beverybody                 @everybody
 *     &lt;tool&gt;                     <tool&gt;         in prose: one level of what hides a tag
 *
 * @module
 */

/** @type {Record<string, string>} */
const REFERENCES = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
  "&#39;": "'",
  "&#40;": "(",
  "&#64;": "@",
  "&#10;": "\n",
  "&#13;": "\r",
  "&#10060;": "❌",
};
const REFERENCE = new RegExp(Object.keys(REFERENCES).join("|"), "g");
const FAILED = "❌ ";

// What would read as a block if prose said it: our tags, and the old Markdown markers.
const TAG = "/?(?:[tT][oO][oO][lL]|[vV][aA][lL][iI][dD][aA][tT][iI][oO][nN])";
const GAP = "[\\t\\v-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]{0,100}";
const STARS = `\\ufe0f?${GAP}\\*\\*${GAP}`;
const OLD_CALL = `${STARS}[tT][oO][oO][lL] [cC][aA][lL][lL]`;
const OLD_RESULT = `${STARS}\``;
const LEVELS = `(?:amp;)*(?:lt;${TAG}|#128295;${OLD_CALL}|#9989;${OLD_RESULT})`;
const MARK = new RegExp(
  `&lt;(?=${TAG})|&#128295;(?=${OLD_CALL})|&#9989;(?=${OLD_RESULT})|&amp;(?=${LEVELS})`,
  "g",
);
/** @type {Record<string, string>} */
const MARKS = { "&lt;": "<", "&#128295;": "🔧", "&#9989;": "✅", "&amp;": "&" };

/**
 * References read; those that are not ours stay as they are.
 * @param {string} raw
 * @returns {string}
 */
export function unescape(raw) {
  return raw.replace(REFERENCE, (found) => REFERENCES[found] ?? found);
}

/**
 * References read, and mentions made whole again.
 * @param {string} raw
 * @returns {string}
 */
export function unescapeShown(raw) {
  return unescape(raw).replaceAll("@\u200b", "@");
}

/**
 * Prose with exactly one level of what hides a tag taken off.
 * @param {string} raw
 * @returns {string}
 */
export function unescapeProse(raw) {
  return raw.includes("&") ? raw.replace(MARK, (found) => MARKS[found] ?? found) : raw;
}

/**
 * A call's line: its name, and its arguments as shown or null if it has no `(`.
 * @param {string} raw
 * @returns {{name: string, args: string | null}}
 */
export function unescapeCall(raw) {
  const paren = raw.indexOf("(");
  if (paren < 0) return { name: unescapeShown(raw), args: null };
  const args = raw.slice(paren + 1).replace(/\)$/, "");
  return { name: unescapeShown(raw.slice(0, paren)), args: unescapeShown(args) };
}

/**
 * A result as shown, and whether it says that the call failed.
 * @param {string} raw
 * @returns {{text: string, failed: boolean}}
 */
export function unescapeResult(raw) {
  const failed = raw.startsWith(FAILED);
  return { text: unescapeShown(failed ? raw.slice(FAILED.length) : raw), failed };
}
