/**
 * What the server read in a text, and what of it was known at a position.
 *
 *     {type: "call-started", name: "ls", span: [3, 12], at: 12, …}      offsets in characters
 *
 * Events come in the order in which they were known, and their spans tile the text.
 */

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
