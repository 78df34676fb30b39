/** Parts as the clients of the npm package `ai` keep them are drawn like our own. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { sections } from "../../web/src/group.js";
import { newMessage, take } from "../../web/src/reduce.js";
import { drawn, liveStreams } from "./corpus.js";

/** @import {Chunk, Part, Section} from "../../web/src/types.js" */

/** @type {Record<string, string>} */
const CLIENTS = { 5: "ai5/dist/index.mjs", 6: "ai6/dist/index.mjs", 7: "ai7/dist/index.js" };

/**
 * The parts that a client has after a stream.
 * @param {string} client
 * @param {Chunk[]} chunks
 * @returns {Promise<Part[]>}
 */
async function read(client, chunks) {
  const { readUIMessageStream } = await import(`../node/node_modules/${client}`);
  const stream = new ReadableStream({
    start(given) {
      for (const chunk of chunks) given.enqueue(chunk);
      given.close();
    },
  });
  /** @type {Part[]} */
  let parts = [];
  for await (const message of readUIMessageStream({ stream, onError: () => {} })) parts = message.parts;
  return parts;
}

/** @param {Section} section */
function shown(section) {
  if (section.kind === "batch") return [section.key, drawn(section), section.calls.map((call) => call.state)];
  if (section.kind === "approval") return { ...section, approval: { ...section.approval, askedAt: 0 } };
  if (section.kind === "thought") return { ...section, seconds: 0 };
  return section;
}

for (const [version, client] of Object.entries(CLIENTS)) {
  test(`a client of version ${version} has the same sections as we have`, async () => {
    for (const { name, chunks } of liveStreams().filter((stream) => stream.version === version)) {
      const told = chunks.filter((chunk) => chunk.type !== "error");
      const message = newMessage();
      for (const chunk of structuredClone(told)) take(message, chunk);
      const theirs = sections(await read(client, structuredClone(told)));
      assert.deepEqual(theirs.map(shown), sections(message.parts).map(shown), name);
    }
  });
}
