/** Nothing that comes over the wire throws, whatever it is made of. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReader } from "../../web/src/decode.js";
import { callLine, lineText, resultLayout } from "../../web/src/display.js";
import { partsOfText } from "../../web/src/from-text.js";
import { messagesOfTimeline } from "../../web/src/from-timeline.js";
import { sections, sectionsOf } from "../../web/src/group.js";
import { cut, newMessage, take } from "../../web/src/reduce.js";
import { chance, streams } from "./corpus.js";

/** Values of any kind; half of the time of one that does not fit. */
const VALUES = [
  ...[null, undefined, true, false, 0, -1, 1.5, NaN, "", "text", "c1", "__proto__", "constructor", [], {}],
  ...[[null], { id: 5 }, { type: null }, { toolCallId: {} }, { __proto__: null }, "\ud800", "x".repeat(300)],
];
const TYPES = [
  ...["start", "text-start", "text-delta", "text-end", "reasoning-delta", "tool-input-start", "tool-input-delta"],
  ...["tool-input-available", "tool-input-error", "tool-output-available", "tool-output-error", "tool-output-denied"],
  ...["tool-approval-request", "tool-approval-response", "data-approval", "data-artifact", "data-member"],
  ...["data-problem", "data-progress", "data-ending", "file", "source-url", "error", "abort", "finish", "tool-", "constructor"],
  ...["message-metadata", "start-step", "unreadable", "__proto__", "", "dynamic-tool", "validation", "tool-x", "text"],
];
const KEYS = [
  ...["id", "delta", "text", "toolCallId", "toolName", "input", "output", "errorText", "approvalId", "approved"],
  ...["data", "messageMetadata", "providerMetadata", "callProviderMetadata", "dynamic", "transient", "state"],
  ...["approval", "messageId", "shown", "notices", "url", "mediaType", "kind", "calls", "files", "turn", "who"],
];

/** @param {() => number} random */
const pick = (random) => (/** @type {any[]} */ values) => values[Math.floor(random() * values.length)];

/**
 * @param {() => number} random
 * @returns {any}
 */
function anything(random) {
  const choose = pick(random);
  if (random() < 0.1) return choose(VALUES);
  const found = { type: choose(TYPES) };
  for (let count = random() * 6; count > 0; count -= 1) {
    Object.assign(found, { [choose(KEYS)]: random() < 0.3 ? anything(random) : choose(VALUES) });
  }
  return found;
}

/** @param {any} found */
function show(found) {
  const keys = found.map((/** @type {any} */ section) => section.key);
  assert.equal(new Set(keys).size, keys.length);
  for (const section of found) {
    for (const call of section.calls ?? []) {
      lineText(call);
      resultLayout(call);
    }
  }
}

test("any chunks, parts and items are taken", () => {
  const random = chance(11);
  for (let round = 0; round < 300; round += 1) {
    const message = newMessage();
    const given = Array.from({ length: 20 }, () => anything(random));
    for (const chunk of given) take(message, chunk);
    show(sectionsOf(message));
    cut(message);
    show(sectionsOf(message, { live: false }));
    show(sections(given));
    for (const one of messagesOfTimeline(given)) show(sectionsOf(one));
  }
});

test("things that are no messages and no lists are taken", () => {
  for (const value of /** @type {any[]} */ (VALUES)) {
    take(newMessage(), value);
    sections(value);
    sectionsOf(value);
    messagesOfTimeline(value);
    partsOfText(value);
    callLine(value, value);
    resultLayout({ id: "", name: value, input: value, state: "done", output: value });
    resultLayout({ id: "", name: value, input: value, state: value, error: value });
  }
});

test("good streams with chunks lost, doubled and spoiled are taken", () => {
  const random = chance(13);
  for (const { chunks } of streams()) {
    const message = newMessage();
    for (const chunk of chunks) {
      if (random() < 0.2) continue;
      const key = pick(random)(Object.keys(chunk));
      take(message, random() < 0.2 ? { ...chunk, [key]: pick(random)(VALUES) } : structuredClone(chunk));
      if (random() < 0.1) take(message, structuredClone(chunk));
    }
    show(sectionsOf(message));
  }
});

test("a value that goes very deep is shown as far as one may look", () => {
  /** @type {any} */
  let deep = [];
  for (let depth = 0; depth < 5000; depth += 1) deep = [deep];
  assert.ok(lineText({ id: "", name: "f", input: { deep }, state: "done" }).startsWith("f(deep=[[["));
  const text = `data: ${"[".repeat(5000)}${"]".repeat(5000)}\n\n`;
  assert.equal(new EventReader().feed(text)[0]?.chunk?.type, "unreadable");
});

test("names of an object's own are no types and no keys", () => {
  const message = newMessage();
  take(message, JSON.parse('{"type":"message-metadata","messageMetadata":{"__proto__":{"status":"failed"}}}'));
  assert.deepEqual(sectionsOf(message), []);
  assert.equal(/** @type {any} */ ({}).status, undefined);
});
