/**
 * The sentences around a reading: which dialect it is and why, what a call would be read with, how
 * many events, how many problems.
 */

import { h } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";

/** @typedef {import("./playground-reading.js").Reading} Reading */
/** @typedef {import("./playground-given.js").Change} Change */

const NAMED = 3;

/**
 * Why the text is read as it is.
 * @param {Reading} reading
 * @param {string} chosen
 * @param {string} model who wrote it, where that is known
 * @param {(change: Change) => void} change reads it by what a hint proposes
 * @returns {(Node | string)[]}
 */
export function why(reading, chosen, model, change) {
  if (!reading.length) return ["Paste a text, or choose a sample."];
  if (reading.hint) return [`${chosen}: `, h("strong", {}, "no call found."), " ", ...hintOf(reading.hint, change)];
  if (chosen !== "auto") return [`Read as ${chosen} only: ${counted(reading)}.`];
  const first = model ? firstOf(reading, model) : [];
  if (!reading.dialect) return [`auto: ${visibleLine(reading.why)}`, ...first];
  if (reading.first && reading.first === reading.dialect) {
    return ["auto → ", h("strong", {}, reading.dialect), ", asked first because the model is ", h("code", {}, visibleLine(model)), `: ${counted(reading)}.`];
  }
  return ["auto → ", h("strong", {}, reading.dialect), `: ${visibleLine(reading.why)}`, ...first];
}

/**
 * @param {Reading} reading
 * @param {string} model
 */
function firstOf({ first }, model) {
  const words = first ? ` ${first} was asked first, for ` : " No dialect is known for ";
  return [words, h("code", {}, visibleLine(model)), "."];
}

/**
 * Calls that were not read, and the button that reads them.
 * @param {NonNullable<Reading["hint"]>} hint
 * @param {(change: Change) => void} change
 * @returns {(Node | string)[]}
 */
function hintOf({ way, calls, dialect }, change) {
  const names = [...new Set(calls)];
  const shown = names.slice(0, NAMED).map(visibleLine).join(", ") + (names.length > NAMED ? ", …" : "");
  const count = calls.length === 1 ? "A call" : `${calls.length} calls`;
  const are = calls.length === 1 ? "stands" : "stand";
  if (way === "in_code_fences") {
    return [`${count} of ${shown} ${are} in a code fence, as a quotation. `, button("Read code fences too", () => change({ in_code_fences: true }))];
  }
  const words = `${count} of ${shown} would be read with the ${names.length === 1 ? "tool" : "tools"} declared`;
  if (dialect) return [`${words}: it looks like ${dialect}, which no marker opens. `, button(`Read as ${dialect}`, () => change({ dialect }))];
  return [`${words}. `, button("Declare them", () => change({ tools: names.join(", ") }))];
}

/**
 * @param {string} words
 * @param {() => void} work
 */
const button = (words, work) => h("button", { type: "button", class: "btn small", onclick: work }, words);

/** @param {Reading} reading */
export function whole({ events, more, step }) {
  const all = (events.length + more).toLocaleString("en");
  const parts = [`${all} when the text is whole`];
  if (more) parts.push(`${more.toLocaleString("en")} not listed`);
  if (step > 1) parts.push(`arrives by ${step} characters`);
  return parts.join(", ");
}

/**
 * @param {number} known
 * @param {number} all
 */
export function problemWords(known, all) {
  if (!all) return "No problems";
  return `Problems ${known} of ${all}`;
}

/** @param {Reading} reading */
function counted({ calls, problems }) {
  const words = calls ? many(calls, "call") : "no call";
  return problems.length ? `${words}, ${many(problems.length, "problem")}` : words;
}

/**
 * @param {number} count
 * @param {string} what
 */
const many = (count, what) => (count === 1 ? `1 ${what}` : `${count.toLocaleString("en")} ${what}s`);
