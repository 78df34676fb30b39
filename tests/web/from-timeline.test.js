/** A timeline's items become messages, with the batches that the server draws. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { messagesOfTimeline } from "../../web/src/from-timeline.js";
import { sectionsOf } from "../../web/src/group.js";
import { corpus, drawn } from "./corpus.js";

/** @param {any[]} items */
const shown = (items) => messagesOfTimeline(items).flatMap((message) => sectionsOf(message));

for (const { name, items, batches } of corpus("timelines.json").timelines) {
  test(`${name}: the batches are the same`, () => {
    const found = shown(items).filter((section) => section.kind === "batch");
    assert.deepEqual(found.map((batch) => drawn(batch)), batches);
  });
}

test("each side's words are a message of its own", () => {
  const { items } = corpus("timelines.json").timelines.find((/** @type {any} */ one) => one.name === "a-chat");
  const messages = messagesOfTimeline(items);
  assert.deepEqual(messages.map((message) => [message.id, message.role]), [
    ["turn_1.user", "user"],
    ["turn_1", "assistant"],
  ]);
  const ending = shown(items).at(-1);
  assert.deepEqual(ending?.kind === "ending" && [ending.status, ending.text], [
    "failed",
    "✗ failed: model_unreachable",
  ]);
});

test("files, notices and what is lost are shown", () => {
  const file = { path: "fi:turn_1/a.png", mime: "image/png", size: 2048, image: "AAE=" };
  const found = shown([
    { kind: "message", seq: 1, turn: "t", who: "user", text: "", files: [file] },
    { kind: "batch", turn: "t", calls: [{ seq: 2, name: "f", line: "f()", result: null, files: [file], notices: ["n"] }] },
    { kind: "thought", seq: 3, turn: "t", text: "Hm." },
    { kind: "lost", seq: 3, turn: "t", words: "Block 3 cannot be read." },
    { kind: "new", seq: 4, turn: "t" },
  ]);
  assert.deepEqual(found.map((section) => section.kind), ["file", "batch", "file", "thought", "problem", "other"]);
  const [given, batch] = found;
  assert.equal(given?.kind === "file" && given.file.url, "data:image/png;base64,AAE=");
  assert.deepEqual(batch?.kind === "batch" && batch.calls[0]?.notices, ["n"]);
  assert.deepEqual(batch?.kind === "batch" && drawn(batch), [
    "🔧 f (hide details)",
    "  f() → fi:turn_1/a.png (image/png, 2.0KB)",
  ]);
});
