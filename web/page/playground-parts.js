/**
 * What had arrived of a text, as the parts of a message: what `<call-blocks>` would have shown then.
 * Nothing runs here: a call is arriving, ready, or not whole.
 */

import { Characters } from "./playground-characters.js";
import { countAt } from "./playground-reading.js";

/** @typedef {import("./playground-reading.js").ReadEvent} ReadEvent */
/** @typedef {import("../src/types.js").Part} Part */

const MOST = 100;
const STEP = 50;
const LONG = 20_000;

/**
 * @param {ReadEvent[]} events
 * @param {number} position
 * @returns {{parts: Part[], left: number}} the last ones, and how many came before them
 */
export function partsAt(events, position) {
  /** @type {Part[]} */
  const parts = [];
  /** @type {Map<number, Part>} */
  const calls = new Map();
  for (const event of events.slice(0, countAt(events, position))) {
    const part = newPart(event, position);
    const call = typeof event.index === "number" ? calls.get(event.index) : undefined;
    if (event.type === "call-started" && part) calls.set(event.index ?? -1, part);
    else if (call) tell(call, event, position);
    if (part) parts.push(part);
  }
  // By steps: what is drawn is known by its place, and stays while a few more come.
  const left = Math.max(0, Math.floor((parts.length - MOST) / STEP) * STEP);
  return { parts: parts.slice(left), left };
}

/**
 * @param {ReadEvent} event
 * @param {number} position
 * @returns {Part | null}
 */
function newPart(event, position) {
  switch (event.type) {
    case "text":
    case "malformed":
      return { type: "text", text: lastOf(arrived(event, position)) };
    case "reasoning":
      return { type: "reasoning", text: lastOf(arrived(event, position)) };
    case "call-started":
      return {
        type: "dynamic-tool",
        toolCallId: `${event.index}`,
        toolName: event.name ?? "",
        state: "output-available",
        parsed: { word: "arriving" },
      };
    default:
      return null;
  }
}

/**
 * What else is known of a call.
 * @param {Part} part
 * @param {ReadEvent} event
 * @param {number} position
 */
function tell(part, event, position) {
  if (event.type === "call-input") part.input = { input: arrived(event, position) };
  if (event.type === "malformed") notWhole(part, event.detail || event.code || "");
  if (event.type === "call-ready") {
    part.input = event.call?.input;
    if (event.call?.ended === false) notWhole(part, "the text stops inside this call");
    else part.parsed = { word: "ready" };
  }
  if (event.type === "call-result") {
    const error = event.result?.error;
    const end = error ? { state: "output-error", errorText: error } : { state: "output-available", output: event.result?.output };
    // The text itself says how it ended.
    Object.assign(part, end, { parsed: undefined });
  }
}

/**
 * @param {Part} part
 * @param {string} why
 */
function notWhole(part, why) {
  Object.assign(part, { state: "output-error", errorText: why, parsed: { word: "not whole", why } });
}

/**
 * The end of a text that is very long, from a blank line on. It begins at the same place while a
 * few more letters come, so that what is drawn stays.
 * @param {string} text
 */
function lastOf(text) {
  if (text.length <= LONG * 1.5) return text;
  const least = Math.floor((text.length - LONG) / LONG) * LONG + LONG / 2;
  const blank = text.indexOf("\n\n", least);
  return `… ${text.slice(blank < 0 || blank > least + LONG / 4 ? least : blank + 2)}`;
}

/**
 * The text of an event, as far as it had arrived; where it is not the text as written, all of it.
 * @param {ReadEvent} event
 * @param {number} position
 */
function arrived({ text = "", span }, position) {
  if (position >= span[1]) return text;
  return new Characters(text).slice(0, position - span[0]);
}
