/**
 * What was read in a text, and what of it was known at a position.
 *
 *     const reading = await readBy("/api/parse", {text, dialect: "auto"}, signal);
 *     {type: "call-started", name: "ls", span: [3, 12], at: 12, …}      offsets in characters
 *
 * Events come in the order in which they were known, and their spans tile the text. The server reads,
 * or the same parser in a worker of this browser where the page was built as a static site (`make
 * playground`; `<html data-reader="browser">`). Faults are `ApiError`, in the words of the server.
 */

import { ApiError, getJson, postJson } from "./api.js";

/**
 * @typedef {object} ReadEvent
 * @property {string} type
 * @property {[number, number]} span
 * @property {number} at
 * @property {string} [text]
 * @property {number | null} [index]
 * @property {string | null} [id]
 * @property {string} [name]
 * @property {{id: string, name: string, input: Record<string, unknown>, ended?: boolean}} [call]
 * @property {{id: string, output?: unknown, error?: string | null}} [result]
 * @property {string} [code]
 * @property {string} [detail]
 */

/** @typedef {{code: string, detail: string, span: [number, number], at: number}} ReadProblem */

/**
 * @typedef {object} Reading
 * @property {string} dialect
 * @property {string} why
 * @property {number} length
 * @property {number} step
 * @property {ReadEvent[]} events
 * @property {ReadProblem[]} problems
 * @property {number} calls
 * @property {number} more
 * @property {string} [first] the dialect that was asked first, because of the model
 * @property {{way: "in_code_fences" | "tools", calls: string[], dialect: string} | null} [hint] calls that were not read
 */

/** @type {Reading} */
export const NOTHING = { dialect: "", why: "", length: 0, step: 1, events: [], problems: [], calls: 0, more: 0 };

/**
 * How many of these were known when so many characters had arrived; they are in that order.
 * @param {{at: number}[]} known
 * @param {number} position
 */
export function countAt(known, position) {
  let low = 0;
  let high = known.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {{at: number}} */ (known[middle]).at <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first event that reaches beyond an offset.
 * @param {ReadEvent[]} events
 * @param {number} offset
 */
export function firstAt(events, offset) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {ReadEvent} */ (events[middle]).span[1] > offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @type {Record<string, string>} */
const MARKS = {
  "call-started": "start",
  "call-input": "input",
  "call-ready": "ready",
  "call-result": "result",
  reasoning: "thought",
  malformed: "bad",
};

/**
 * How the span of an event is marked: `start`, `input`, `ready` … or "" for text.
 * @param {ReadEvent | undefined} event
 */
export function markOf(event) {
  return MARKS[event?.type ?? ""] ?? "";
}

/** @type {Map<number, {resolve: (value: any) => void, reject: (error: unknown) => void}>} */
const asked = new Map();
/** @type {Worker | undefined} */
let worker;

/**
 * @param {"/api/parse" | "/api/convert" | "/api/dialects"} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function readBy(path, body, signal) {
  if (document.documentElement.dataset.reader === "browser") return readHere(path, body, signal);
  return body ? postJson(path, body, { signal }) : getJson(path);
}

/**
 * @param {string} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 */
function readHere(path, body = {}, signal) {
  worker ??= begun();
  const id = asked.size ? Math.max(...asked.keys()) + 1 : 0;
  return new Promise((resolve, reject) => {
    asked.set(id, { resolve, reject });
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    worker?.postMessage({ id, path, body: JSON.stringify(body) });
  });
}

function begun() {
  const made = new Worker(new URL("./playground-worker.js", import.meta.url), { type: "module" });
  made.addEventListener("message", ({ data: { id, answer, fault } }) => {
    const waiting = asked.get(id);
    asked.delete(id);
    if (fault === undefined) waiting?.resolve(JSON.parse(answer));
    else waiting?.reject(new ApiError("invalid_request", fault, 422));
  });
  made.addEventListener("error", () => {
    for (const { reject } of asked.values()) reject(new ApiError("unreachable", "The parser could not be started in this browser."));
    asked.clear();
  });
  return made;
}
