/**
 * What chunks tell of a call: it is written, asked about, and comes to an end.
 *
 *     tool-input-start  tool-input-delta*  tool-input-available
 *     tool-approval-request  tool-approval-response
 *     tool-output-available | tool-output-error | tool-output-denied
 *
 * @module
 */

import { add, picked, provided } from "./known.js";
import { note, noteOf, textOf } from "./notes.js";

/** @import {Known, Take} from "./known.js" */
/** @import {Chunk, Message, Part} from "./types.js" */

/**
 * The part of a call; a call that nobody began begins here.
 * @param {Message} message
 * @param {Chunk} chunk
 * @param {Known} parts
 * @returns {Part}
 */
function partOf(message, chunk, parts) {
  const id = textOf(chunk.toolCallId);
  const found = parts.calls.get(id);
  if (found && chunk.type !== "tool-input-start") return found;
  const isDynamic = chunk.dynamic === true || typeof chunk.toolName !== "string";
  const part = add(message, {
    type: isDynamic ? "dynamic-tool" : `tool-${chunk.toolName}`,
    toolCallId: id,
    ...(isDynamic ? { toolName: textOf(chunk.toolName) } : {}),
    ...picked(chunk, "providerExecuted", "title"),
    state: "input-streaming",
  });
  parts.calls.set(id, part);
  return part;
}

/** @type {Take} */
function begin(message, chunk, parts) {
  partOf(message, chunk, parts);
}

/** @type {Take} */
function write(message, chunk, parts) {
  const part = partOf(message, chunk, parts);
  note(part, { inputText: (noteOf(part).inputText ?? "") + textOf(chunk.inputTextDelta) });
}

/** @type {Take} */
function fill(message, chunk, parts, now) {
  const part = partOf(message, chunk, parts);
  Object.assign(part, picked(chunk, "input", "providerExecuted", "title"));
  Object.assign(part, { state: "input-available" }, provided(chunk, "callProviderMetadata"));
  note(part, { startedAt: now });
}

/** @type {Take} */
function spoil(message, chunk, parts, now) {
  const part = partOf(message, chunk, parts);
  Object.assign(part, picked(chunk, "input", "errorText"), { state: "output-error" });
  note(part, { endedAt: now });
}

/** @type {Take} */
function end(message, chunk, parts, now) {
  const part = partOf(message, chunk, parts);
  part.state = chunk.type.slice("tool-".length);
  delete part.preliminary;
  Object.assign(part, picked(chunk, "output", "errorText", "preliminary"));
  note(part, { endedAt: now });
}

/** @type {Take} */
function ask(message, chunk, parts, now) {
  const part = partOf(message, chunk, parts);
  Object.assign(part, { state: "approval-requested", approval: { id: chunk.approvalId } });
  parts.asked.set(textOf(chunk.approvalId), part);
  note(part, { askedAt: now });
}

/** @type {Take} */
function answer(_message, chunk, parts, now) {
  const part = parts.asked.get(textOf(chunk.approvalId));
  if (!part) return;
  part.state = "approval-responded";
  part.approval = { ...part.approval, ...picked(chunk, "approved", "reason") };
  note(part, { startedAt: now });
}

/** @type {[string, Take][]} */
export const CALL_CHUNKS = [
  ["tool-input-start", begin],
  ["tool-input-delta", write],
  ["tool-input-available", fill],
  ["tool-input-error", spoil],
  ["tool-output-available", end],
  ["tool-output-error", end],
  ["tool-output-denied", end],
  ["tool-approval-request", ask],
  ["tool-approval-response", answer],
];
