/** A stream gives the message that the server's own code makes of it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { sectionsOf } from "../../web/src/group.js";
import { noteOf } from "../../web/src/notes.js";
import { cut, isFinished, newMessage, take } from "../../web/src/reduce.js";
import { streams } from "./corpus.js";

/**
 * @param {import("../../web/src/types.js").Chunk[]} chunks
 * @param {import("../../web/src/types.js").Message} [message]
 */
function reduced(chunks, message = newMessage()) {
  for (const chunk of chunks) take(message, structuredClone(chunk), 1000);
  return message;
}

for (const { name, version, chunks, message } of streams()) {
  test(`${name}, version ${version}: the message is the same`, () => {
    assert.deepEqual(reduced(chunks), message);
    assert.equal(isFinished(reduced(chunks)), true);
    assert.deepEqual(noteOf(reduced(chunks)).unknown, undefined);
  });
}

test("a message that was loaded in the middle goes on", () => {
  for (const { chunks, message } of streams()) {
    // Between two steps, where no text is open.
    const at = chunks.findIndex((chunk) => chunk.type === "finish-step") + 1;
    const loaded = structuredClone(reduced(chunks.slice(0, at)));
    assert.deepEqual(reduced(chunks.slice(at), loaded), message);
  }
});

test("a stream that is cut anywhere can be shown, and says that it was cut", () => {
  for (const { chunks } of streams()) {
    for (let at = 0; at < chunks.length; at += 11) {
      const message = reduced(chunks.slice(0, at));
      cut(message);
      assert.ok(message.parts.every((part) => part.state !== "streaming"));
      assert.ok(message.metadata?.status);
    }
  }
});

test("a call knows when it began, and what it told last", () => {
  const message = newMessage();
  take(message, { type: "tool-input-available", toolCallId: "c", toolName: "f", dynamic: true, input: {} }, 5);
  take(message, { type: "data-progress", transient: true, data: { toolCallId: "c", text: "half" } }, 6);
  assert.deepEqual(noteOf(message.parts[0]), { startedAt: 5, progress: "half" });
  for (const text of [" way\n", "file 2 of 5\n"]) {
    take(message, { type: "data-progress", transient: true, data: { toolCallId: "c", text } }, 6);
  }
  assert.equal(noteOf(message.parts[0]).progress, "half way\nfile 2 of 5\n");
  const flood = { toolCallId: "c", text: "x".repeat(10_000) };
  take(message, { type: "data-progress", transient: true, data: flood }, 6);
  assert.equal(noteOf(message.parts[0]).progress?.length, 2000);
  assert.equal(message.parts.length, 1);
});

test("time that a person took to answer is not the call's", () => {
  const message = newMessage();
  const question = { type: "data-approval", id: "a", data: { id: "a", toolCallId: "c" } };
  take(message, { type: "tool-input-available", toolCallId: "c", toolName: "f", input: {} }, 5);
  take(message, question, 6);
  take(message, { ...question, data: { ...question.data, approved: true } }, 90);
  assert.equal(noteOf(message.parts[0]).startedAt, 90);
  assert.equal(noteOf(message.parts[1]).askedAt, 6);
});

test("tools that a client knows, and inputs that come in pieces, are read as well", () => {
  const message = reduced([
    { type: "tool-input-start", toolCallId: "c", toolName: "look" },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"a"' },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: ": 1}" },
    { type: "tool-input-error", toolCallId: "c", input: "{", errorText: "no JSON" },
    { type: "file", mediaType: "image/png", url: "data:," },
    { type: "source-url", sourceId: "s", url: "https://example.org" },
  ]);
  assert.equal(noteOf(message.parts[0]).inputText, '{"a": 1}');
  assert.deepEqual(
    message.parts.map((part) => [part.type, part.state]),
    [["tool-look", "output-error"], ["file", undefined], ["source-url", undefined]],
  );
});

test("a call that begins again is another part, and what follows is told of that one", () => {
  const begun = { type: "tool-input-start", toolCallId: "c", toolName: "f", dynamic: true };
  const message = reduced([begun, begun, { type: "tool-output-available", toolCallId: "c", output: 1 }]);
  assert.deepEqual(message.parts.map((part) => part.state), ["input-streaming", "output-available"]);
});

test("unknown chunks are noted, and unreadable ones are a problem of the message", () => {
  const message = reduced([{ type: "new-thing" }, { type: "new-thing" }, { type: "unreadable", text: "{" }]);
  assert.deepEqual(noteOf(message).unknown, ["new-thing"]);
  assert.equal(message.parts[0]?.data.code, "unreadable");
});

test("why a stream ended is kept beside the message", () => {
  const message = reduced([{ type: "error", errorText: "The turn failed." }, { type: "abort" }]);
  assert.equal(noteOf(message).error, "The turn failed.");
  assert.equal(noteOf(message).aborted, true);
});

test("a place in the queue is shown until the model speaks", () => {
  const message = newMessage("m1");
  const queued = (/** @type {number} */ before) => take(message, { type: "data-queue", data: { before }, transient: true });
  const shown = () => sectionsOf(message).map((section) => ("text" in section ? section.text : ""));
  queued(2);
  assert.deepEqual(shown(), ["Waits for the model behind 2 other replies."]);
  queued(1);
  assert.deepEqual(shown(), ["Waits for the model behind 1 other reply."]);
  queued(0);
  assert.deepEqual(shown(), ["Waits for the model, and is the next."]);
  take(message, { type: "text-start", id: "t1" });
  assert.ok(!shown().includes("Waits for the model, and is the next."));
  assert.equal(message.parts.length, 1);
});
