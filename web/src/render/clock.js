/**
 * One timer for everything on a page that counts seconds: `⏳ 14 s`, `waiting 0:42`.
 *
 * @module
 */

import { setText } from "../dom.js";

/** @type {Map<Node, () => string>} */
const counting = new Map();
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/**
 * Keep the text of a node up to date every second, until it is stopped or gone from the page.
 * @param {Node} node
 * @param {() => string} say
 */
export function count(node, say) {
  setText(node, say());
  counting.set(node, say);
  timer ??= setInterval(tick, 1000);
}

/**
 * @param {Node} node
 */
export function stopCounting(node) {
  counting.delete(node);
}

function tick() {
  for (const [node, say] of counting) {
    if (node.isConnected) setText(node, say());
    else counting.delete(node);
  }
  if (counting.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
}

/**
 * Whole seconds since a moment; none before it, unless `signed` wants them below zero.
 * @param {number} moment in milliseconds since 1970
 * @param {boolean} [signed]
 */
export function secondsSince(moment, signed = false) {
  const seconds = Math.floor((Date.now() - moment) / 1000);
  return signed ? seconds : Math.max(0, seconds);
}

/**
 * `14 s`, `2 m 05 s`, `1 h 02 m`.
 * @param {number} seconds
 */
export function duration(seconds) {
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`;
}

/**
 * `0:42`, `12:05`.
 * @param {number} seconds
 */
export function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/**
 * `14 ms`, `2.1 s`, `2 m 05 s`.
 * @param {number} seconds
 */
export function exactDuration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : duration(Math.round(seconds));
}
