/**
 * The corpus that `python scripts/web-corpus` writes, and batches drawn as the server draws them.
 *
 * @module
 */

import { readFileSync, readdirSync } from "node:fs";

import { batchHeader, lineText, resultLayout } from "../../web/src/display.js";

/** @import {Batch, Call, Chunk, Message} from "../../web/src/types.js" */

const HERE = new URL("./corpus/", import.meta.url);

/**
 * @param {string} name
 * @returns {any}
 */
export function corpus(name) {
  return JSON.parse(readFileSync(new URL(name, HERE), "utf-8"));
}

/** @typedef {{name: string, version: string, chunks: Chunk[], message: Message}} Stream */

/** Each stream of each version. @returns {Stream[]} */
export function streams() {
  return turns().flatMap(({ name, told }) =>
    Object.keys(told)
      .filter((key) => key.endsWith(" chunks"))
      .map((key) => {
        const version = key.replace(" chunks", "");
        return { name, version, chunks: told[key], message: told[`${version} message`][0] };
      }),
  );
}

/** Each stream of a turn that runs. @returns {Stream[]} */
export const liveStreams = () => streams().filter(({ version }) => !version.endsWith("over"));

/** Each turn with all that is said of it. @returns {{name: string, told: any}[]} */
export function turns() {
  const files = readdirSync(new URL("streams/", HERE)).sort();
  return files.map((file) => ({ name: file.replace(".json", ""), told: corpus(`streams/${file}`) }));
}

/**
 * @param {Batch} batch
 * @param {number} [columns]
 * @returns {string[]}
 */
export function drawn(batch, columns = 80) {
  return [batchHeader(batch.calls, true), ...batch.calls.flatMap((call) => drawnCall(call, columns))];
}

/**
 * @param {Call} call
 * @param {number} [columns]
 * @returns {string[]}
 */
export function drawnCall(call, columns = 80) {
  const line = `  ${lineText(call)}`;
  const { kind, failed, lines, more } = resultLayout(call, columns);
  const shown = failed ? [`❌ ${lines[0] ?? ""}`.trimEnd(), ...lines.slice(1)] : lines;
  if (kind === "pending") return [`${line} ⏳`];
  if (kind === "empty") return [`${line} ✓`];
  if (kind === "failed") return [`${line} ❌`];
  if (kind === "inline") return [`${line} → ${shown[0]}`];
  return [line, ...[...shown, ...(more ? [more] : [])].map((one) => (one ? `    ${one}` : ""))];
}

/** A source of numbers from 0 to 1 that are the same each time. @param {number} seed */
export function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
