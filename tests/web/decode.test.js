/** Server-sent events come in any pieces, and read the same. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReader, readEvents } from "../../web/src/decode.js";
import { chance } from "./corpus.js";

const TEXT =
  '\ufeff: hello\n\nid: 1.1\ndata: {"type":"start","messageId":"m"}\n\n' +
  'event: x\r\nid:2\r\ndata: {"type":"text-delta",\r\ndata: "delta":"é😀"}\r\n\r\n' +
  "id:  kept\n\nretry: 5\nnonsense\ndata\n\ndata:{\n\nid: a\0b\ndata: [1]\n\n" +
  'data: {"type":"finish"}\r\rdata: [DONE]\n\ndata: {"type":"never ended"}\n';

const EVENTS = [
  { id: "1.1", chunk: { type: "start", messageId: "m" } },
  { id: "2", chunk: { type: "text-delta", delta: "é😀" } },
  { id: " kept", chunk: { type: "unreadable", text: "" } },
  { id: " kept", chunk: { type: "unreadable", text: "{" } },
  { id: " kept", chunk: { type: "unreadable", text: "[1]" } },
  { id: " kept", chunk: { type: "finish" } },
  { id: " kept", chunk: null },
];

/** @param {string[]} pieces */
function read(pieces) {
  const reader = new EventReader();
  return pieces.flatMap((piece) => reader.feed(piece));
}

test("events, comments, ids and all line ends are read; half an event is none", () => {
  assert.deepEqual(read([TEXT]), EVENTS);
});

test("every cut in two gives the same events", () => {
  for (let at = 0; at <= TEXT.length; at += 1) {
    assert.deepEqual(read([TEXT.slice(0, at), TEXT.slice(at)]), EVENTS, `cut at ${at}`);
  }
});

test("each character alone, and random cuts, give the same events", () => {
  assert.deepEqual(read([...TEXT].flatMap((char) => ["", char])), EVENTS);
  const random = chance(7);
  for (let round = 0; round < 200; round += 1) {
    const pieces = TEXT.split(/(?:)/).reduce(
      (found, char) => {
        if (random() < 0.2) found.push("");
        found[found.length - 1] += char;
        return found;
      },
      /** @type {string[]} */ ([""]),
    );
    assert.deepEqual(read(pieces), EVENTS);
  }
});

test("a long line in many pieces costs what it weighs", () => {
  const reader = new EventReader();
  reader.feed('data: {"type":"x","a":"');
  for (let at = 0; at < 50_000; at += 1) reader.feed("0123456789");
  const [event] = reader.feed('"}\n\n');
  assert.equal(event?.chunk?.a.length, 500_000);
});

test("a response is read as it comes, bytes cut inside a character too", async () => {
  const bytes = new TextEncoder().encode(TEXT);
  const body = new ReadableStream({
    start(stream) {
      for (const byte of bytes) stream.enqueue(Uint8Array.of(byte));
      stream.close();
    },
  });
  assert.deepEqual(await Array.fromAsync(readEvents(new Response(body))), EVENTS);
});

test("whoever stops listening ends the response", async () => {
  let ended = false;
  const body = new ReadableStream({
    start: (stream) => stream.enqueue(new TextEncoder().encode(TEXT)),
    cancel: () => void (ended = true),
  });
  for await (const event of readEvents(new Response(body))) if (event.id === "1.1") break;
  assert.ok(ended);
  assert.deepEqual(await Array.fromAsync(readEvents(new Response(null))), []);
});
