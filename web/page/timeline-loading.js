/**
 * A timeline from the server: all blocks by pages, then each new one as it is written; and the
 * segments of the model's view, of which those that are frozen are asked for once.
 */

import { readEvents } from "../src/decode.js";
import { ApiError, ask, getJson } from "./api.js";
import { Patience } from "./patience.js";

/** @typedef {import("./timeline-blocks.js").Entry} Entry */
/** @typedef {import("./timeline-view.js").Segment} Segment */
/** @typedef {{total: number, frozen: number, tokens: number, hidden: number[], hidden_tokens: number, cache_point: number}} ViewFacts */

const PAGE = 1000;
const GATHERED = 60;

/** @param {string} name */
const address = (name) => `/api/timelines/${encodeURIComponent(name)}`;

/**
 * All blocks after one, by pages.
 * @param {string} name
 * @param {number} after
 * @returns {AsyncGenerator<{items: Entry[], count: number}, void, void>}
 */
export async function* pages(name, after) {
  /** @type {number | null} */
  let next = after;
  while (next !== null) {
    const page = await getJson(`${address(name)}?after=${next}&limit=${PAGE}`);
    yield { items: page.items, count: page.count };
    next = page.next;
  }
}

/**
 * Every block that is written after those that are known, some at a time; it never ends.
 * @param {string} name
 * @param {() => number} last
 * @param {object} how
 * @param {(entries: Entry[]) => void} how.came
 * @param {(words: string) => void} how.tell whether it is live
 */
export async function follow(name, last, { came, tell }) {
  const patience = new Patience();
  for (;;) {
    try {
      const response = await ask(`${address(name)}/follow?after=${last()}`);
      tell("live");
      await gather(response, came, () => patience.reset());
    } catch (error) {
      if (error instanceof ApiError && !error.isPassing) return tell(error.message);
    }
    await patience.wait((left) => tell(`not live, next try in ${left} s`));
  }
}

/**
 * @param {Response} response
 * @param {(entries: Entry[]) => void} came
 * @param {() => void} reached
 */
async function gather(response, came, reached) {
  /** @type {Entry[]} */
  let held = [];
  let timer = 0;
  const pass = () => {
    timer = 0;
    const entries = held;
    held = [];
    if (entries.length) came(entries);
  };
  try {
    for await (const { chunk } of readEvents(response)) {
      const entry = entryOf(chunk);
      if (!entry) continue;
      reached();
      held.push(entry);
      timer ||= setTimeout(pass, GATHERED);
    }
  } finally {
    clearTimeout(timer);
    pass();
  }
}

/**
 * The entry of an event. It is no chunk of a message: it comes as the text of one that is not known.
 * @param {import("../src/types.js").Chunk | null} chunk
 * @returns {Entry | null}
 */
function entryOf(chunk) {
  try {
    const entry = JSON.parse(String(chunk?.text ?? ""));
    return typeof entry?.seq === "number" && entry.block ? entry : null;
  } catch {
    return null;
  }
}

/**
 * The segments of a view; the first ones are kept from what was known before.
 * @param {string} name
 * @param {Segment[]} known those that are frozen
 * @returns {Promise<{segments: Segment[], facts: ViewFacts}>}
 */
export async function viewOf(name, known) {
  const segments = [...known];
  for (;;) {
    const page = await getJson(`${address(name)}/segments?after=${segments.length}`);
    segments.push(...page.items);
    if (page.next === null) return { segments, facts: page };
  }
}
