/**
 * The words of the page in the person's language. English stands in the code, and is the key.
 *
 *     t("Copy")                            "Kopieren"
 *     t("{n} chats", {n: 212})             "212 Chats"
 *
 * A language is a table from English to it (`page/words/de.js`); what it lacks stays English. Names,
 * arguments and results of tools are never translated.
 *
 * @module
 */

/** @type {Record<string, string>} */
let table = {};

/** @param {Record<string, string>} words */
export function speak(words) {
  table = words;
}

/**
 * @param {string} words
 * @param {Record<string, string | number>} [values]
 */
export function t(words, values = {}) {
  const said = Object.hasOwn(table, words) ? /** @type {string} */ (table[words]) : words;
  return said.replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? String(values[name]) : all));
}
