/**
 * The sentences around a reading: which dialect it is and why, how many events, how many problems.
 */

import { h } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";

/** @typedef {import("./playground-reading.js").Reading} Reading */

/**
 * Why the text is read as it is.
 * @param {Reading} reading
 * @param {string} chosen
 * @returns {(Node | string)[]}
 */
export function why(reading, chosen) {
  if (!reading.length) return ["Paste a text, or choose a sample."];
  if (chosen !== "auto") return [`Read as ${chosen} only: ${calls(reading.calls)}.`];
  const reason = visibleLine(reading.why);
  if (!reading.dialect) return [`auto: ${reason}`];
  return ["auto → ", h("strong", {}, reading.dialect), `: ${reason}`];
}

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

/** @param {number} count */
function calls(count) {
  if (!count) return "no call";
  return count === 1 ? "1 call" : `${count} calls`;
}
