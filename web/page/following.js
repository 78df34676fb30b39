/**
 * Following one response of a turn: its chunks go into a message until the turn is over.
 *
 *     const end = await follow(response, message, {seen, signal});    "over" | "cut" | "stale"
 *
 * A stream that ends without saying how the turn ended was cut, whatever cut it. One that is silent
 * for longer than the server ever is was cut too: a machine that slept finds its streams like that.
 * `stale` is an answer that was told from the timeline to somebody who had heard it live: what it
 * says and what is shown may overlap, so it is read from the start instead.
 */

import { readEvents } from "../src/decode.js";
import { take } from "../src/reduce.js";

const SILENCE = 40_000;
const LOOK = 5_000;

/** @typedef {import("../src/types.js").Message} Message */

/**
 * Where a reader is: the last event's number, and which texts are under way.
 * @typedef {{last: string, open: Set<string>}} Place
 */

/** @returns {Place} */
export function newPlace() {
  return { last: "", open: new Set() };
}

/**
 * The block that an event's number names.
 * @param {string} id
 */
export function blockOf(id) {
  return Number.parseInt(id, 10) || 0;
}

/**
 * @param {Response} response
 * @param {Message} message
 * @param {object} how
 * @param {Place} how.place
 * @param {() => void} how.seen called after each event
 * @param {AbortController} how.stop
 * @param {boolean} [how.rest] the response goes on after `place.last`
 * @returns {Promise<"over" | "cut" | "stale">}
 */
export async function follow(response, message, { place, seen, stop, rest = false }) {
  let isChecked = !rest;
  const held = [];
  const watched = watch(response, stop);
  try {
    for await (const event of readEvents(watched.response)) {
      if (!isChecked) {
        held.push(event);
        if (event.id === place.last || !event.id) continue;
        if (event.id.endsWith(".0")) return "stale";
        isChecked = true;
      }
      for (const one of held.length ? held.splice(0) : [event]) note(message, place, one);
      seen();
    }
  } catch (error) {
    if (!watched.isCut && stop.signal.aborted) throw error;
  } finally {
    watched.end();
  }
  if (!isChecked) return "stale";
  return isOver(message) ? "over" : "cut";
}

/**
 * Whether the message says how its turn ended.
 * @param {Message} message
 */
export function isOver(message) {
  return typeof message.metadata?.status === "string";
}

/**
 * @param {Message} message
 * @param {Place} place
 * @param {import("../src/types.js").StreamEvent} event
 */
function note(message, place, { id, chunk }) {
  if (chunk) {
    take(message, chunk);
    if (/^(text|reasoning)-start$/.test(chunk.type)) place.open.add(chunk.id);
    else if (/^(text|reasoning)-end$/.test(chunk.type)) place.open.delete(chunk.id);
  }
  if (id) place.last = id;
}

/**
 * The response, given up once nothing came for too long; the clock counts sleep as well.
 * @param {Response} response
 * @param {AbortController} stop
 */
function watch(response, stop) {
  let heard = Date.now();
  const listening = new TransformStream({
    transform(bytes, controller) {
      heard = Date.now();
      controller.enqueue(bytes);
    },
  });
  const body = response.body?.pipeThrough(listening) ?? null;
  const watched = {
    response: new Response(body, { headers: response.headers }),
    isCut: false,
    end: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    if (Date.now() - heard < SILENCE) return;
    watched.isCut = true;
    stop.abort();
  }, LOOK);
  return watched;
}
