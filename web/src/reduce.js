/**
 * Chunks put together to the message that they tell, as the clients of the AI SDK do it.
 *
 *     const message = newMessage();
 *     for await (const { chunk } of readEvents(response)) if (chunk) take(message, chunk);
 *     if (!isFinished(message)) cut(message);
 *
 * No chunk throws: one of an unknown type is noted, one that lacks something does what it can.
 *
 * @module
 */

import { add, describe, endPart, isText, knownOf, nameOf, provided } from "./known.js";
import { isObject, note, noteOf, textOf } from "./notes.js";
import { CALL_CHUNKS } from "./reduce-calls.js";

/** @import {Take} from "./known.js" */
/** @import {Chunk, Message} from "./types.js" */

/** How many characters of what a running call tells are kept. */
const PROGRESS = 2000;

/**
 * An assistant's message with nothing in it.
 * @param {string} [id]
 * @returns {Message}
 */
export function newMessage(id = "") {
  return { id, role: "assistant", parts: [] };
}

/**
 * Take the next chunk into a message; `now` is in milliseconds since 1970.
 * @param {Message} message
 * @param {Chunk} chunk
 * @param {number} [now]
 */
export function take(message, chunk, now = Date.now()) {
  if (!isObject(chunk) || typeof chunk.type !== "string") return;
  // Whatever else comes, the model is no longer waited for.
  if (noteOf(message).queue !== undefined) note(message, { queue: undefined });
  const by = chunk.type.startsWith("data-") ? setData : TAKES.get(chunk.type);
  if (by) by(message, chunk, knownOf(message), now);
  else noteUnknown(message, chunk.type);
}

/**
 * The stream ended without its end: nothing is written any more, and the message says so.
 * @param {Message} message
 * @param {number} [now]
 */
export function cut(message, now = Date.now()) {
  for (const part of message.parts) {
    if (isText(part) && part.state === "streaming") endPart(part, now);
  }
  knownOf(message).texts.clear();
  if (!isFinished(message) && !message.metadata?.status) describe(message, { status: "cut" });
}

/**
 * Whether the stream of a message came to its end.
 * @param {Message} message
 * @returns {boolean}
 */
export function isFinished(message) {
  return noteOf(message).finished === true;
}

/**
 * @param {Message} message
 * @param {string} type
 */
function noteUnknown(message, type) {
  const before = noteOf(message).unknown ?? [];
  if (!before.includes(type)) note(message, { unknown: [...before, type] });
}

/** @type {Take} */
function start(message, chunk) {
  message.id = textOf(chunk.messageId) || message.id;
  describe(message, chunk.messageMetadata);
}

/** @type {Take} */
function finish(message, chunk) {
  describe(message, chunk.messageMetadata);
  note(message, { finished: true });
}

/** @type {Take} */
function fail(message, chunk) {
  note(message, { error: textOf(chunk.errorText) || "The server reported an error." });
}

/** @type {Take} */
function beginText(message, chunk, parts, now) {
  const type = chunk.type.startsWith("reasoning") ? "reasoning" : "text";
  const about = provided(chunk, "providerMetadata");
  const part = add(message, { type, text: "", state: "streaming", ...about });
  parts.texts.set(nameOf(type, chunk.id), part);
  note(part, { startedAt: now });
}

/** @type {Take} */
function addText(message, chunk, parts, now) {
  const name = nameOf(chunk.type.replace("-delta", ""), chunk.id);
  if (!parts.texts.has(name)) beginText(message, chunk, parts, now);
  const part = parts.texts.get(name);
  if (part) part.text += textOf(chunk.delta);
}

/** @type {Take} */
function endText(_message, chunk, parts, now) {
  const name = nameOf(chunk.type.replace("-end", ""), chunk.id);
  const part = parts.texts.get(name);
  if (part) endPart(part, now);
  parts.texts.delete(name);
}

/** @type {Take} */
function addWhole(message, chunk) {
  add(message, { ...chunk });
}

/** What cannot be read is a problem of the message, so that nobody misses it. @type {Take} */
function addUnreadable(message, chunk) {
  const detail = `The server sent what is no chunk: ${textOf(chunk.text).slice(0, 200)}`;
  const id = `unreadable-${message.parts.length}`;
  add(message, { type: "data-problem", id, data: { code: "unreadable", detail } });
}

/**
 * A running call tells piece by piece, and the last of it is looked at.
 * @param {object} call
 * @param {string} text
 */
function addProgress(call, text) {
  note(call, { progress: ((noteOf(call).progress ?? "") + text).slice(-PROGRESS) });
}

/** What has a type and an id that are known replaces what was said before. @type {Take} */
function setData(message, chunk, parts, now) {
  const call = parts.calls.get(textOf(chunk.data?.toolCallId));
  if (chunk.transient) {
    if (call && chunk.type === "data-progress") addProgress(call, textOf(chunk.data?.text));
    if (chunk.type === "data-queue") note(message, { queue: Number(chunk.data?.before) || 0 });
    return;
  }
  const name = nameOf(chunk.type, chunk.id);
  const before = chunk.id === undefined ? undefined : parts.data.get(name);
  if (before) {
    before.data = chunk.data;
  } else {
    const part = add(message, { ...chunk });
    parts.data.set(name, part);
    note(part, { askedAt: now });
  }
  const isAnswer = chunk.type === "data-approval" && chunk.data?.approved !== undefined;
  if (call && isAnswer) note(call, { startedAt: now });
}

/** @type {Map<string, Take>} */
const TAKES = new Map([
  ...CALL_CHUNKS,
  ["start", start],
  ["start-step", (message) => void add(message, { type: "step-start" })],
  ["finish-step", () => {}],
  ["message-metadata", (message, chunk) => describe(message, chunk.messageMetadata)],
  ["text-start", beginText],
  ["text-delta", addText],
  ["text-end", endText],
  ["reasoning-start", beginText],
  ["reasoning-delta", addText],
  ["reasoning-end", endText],
  ["file", addWhole],
  ["source-url", addWhole],
  ["source-document", addWhole],
  ["unreadable", addUnreadable],
  ["error", fail],
  ["abort", (message) => note(message, { aborted: true })],
  ["finish", finish],
]);
