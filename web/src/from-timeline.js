/**
 * A timeline as messages: the items of `GET /api/timelines/NAME?view=chat`.
 *
 *     {"kind": "message", "who": "user", …}     a message of the person
 *     {"kind": "thought", "text": "…"}          what the model thought
 *     {"kind": "batch", "calls": […]}           calls of the answer, with what came of them
 *     {"kind": "lost" | "ended", "words": "…"}  parts of the answer
 *
 * What one side says without the other between is one message, within a turn.
 *
 * @module
 */

import { isObject, textOf, textsOf } from "./notes.js";
import { sizeText } from "./shown.js";

/** @import {Message, Part} from "./types.js" */

/** @typedef {Record<string, any>} Item */

const IMAGE = /^image\/[\w.+-]+$/;
const STATUS = /^[■✗] (\w+)/u;

/**
 * @param {readonly Item[]} items
 * @returns {Message[]}
 */
export function messagesOfTimeline(items) {
  /** @type {Message[]} */
  const messages = [];
  for (const item of Array.isArray(items) ? items : []) {
    if (!isObject(item)) continue;
    const role = item.kind === "message" && item.who === "user" ? "user" : "assistant";
    const message = messageFor(messages, role, textOf(item.turn));
    message.parts.push(...partsOf(item));
  }
  return messages;
}

/**
 * @param {Message[]} messages
 * @param {"user" | "assistant"} role
 * @param {string} turn
 * @returns {Message}
 */
function messageFor(messages, role, turn) {
  const last = messages.at(-1);
  if (last?.role === role && last.metadata?.turn === turn) return last;
  const base = role === "user" ? `${turn}.user` : turn;
  const copies = messages.filter((one) => one.metadata?.base === base).length;
  const id = copies ? `${base}~${copies + 1}` : base;
  const message = { id, role, metadata: { turn, base }, parts: [] };
  messages.push(message);
  return message;
}

/**
 * @param {Item} item
 * @returns {Part[]}
 */
function partsOf(item) {
  switch (item.kind) {
    case "message":
      return said(item);
    case "thought":
      return [{ type: "reasoning", text: textOf(item.text), state: "done" }];
    case "batch":
      return listOf(item.calls).flatMap(called);
    case "lost":
      return [problem(item, "damaged", textOf(item.words))];
    case "ended":
      return [ended(item)];
    default:
      return [{ type: "data-unknown", id: nameOf("unknown", item), data: item }];
  }
}

/**
 * @param {Item} item
 * @returns {Part[]}
 */
function said(item) {
  const member = textOf(item.member);
  const of = member ? { providerMetadata: { callblocks: { member } } } : {};
  const text = textOf(item.text);
  return [
    ...listOf(item.files).map((file) => filePart(file)),
    ...(text ? [{ type: "text", text, state: "done", ...of }] : []),
    ...(item.is_cut === true ? [problem(item, "cut", "It broke off here.")] : []),
  ];
}

/**
 * A call with its line as it came, and its files behind it.
 * @param {Item} call
 * @returns {Part[]}
 */
function called(call) {
  const toolCallId = nameOf("seq", call);
  const files = listOf(call.files);
  const result = textOf(call.result) || files.map(aboutFile).join("\n") || call.result;
  const part = {
    type: "dynamic-tool",
    toolCallId,
    toolName: textOf(call.name) || "call",
    shown: textOf(call.line) || textOf(call.name),
    notices: textsOf(call.notices),
    code: textOf(call.code),
    ...outcome(result, call.failed === true),
  };
  return [part, ...files.map((file) => filePart(file, toolCallId))];
}

/**
 * @param {unknown} result
 * @param {boolean} failed
 */
function outcome(result, failed) {
  if (failed) return { state: "output-error", errorText: textOf(result) };
  if (typeof result !== "string") return { state: "input-available" };
  return { state: "output-available", output: result };
}

/**
 * @param {Item} file
 * @param {string} [toolCallId]
 * @returns {Part}
 */
function filePart(file, toolCallId) {
  const mediaType = textOf(file.mime) || "application/octet-stream";
  const image = IMAGE.test(mediaType) ? textOf(file.image) : "";
  return {
    type: "file",
    mediaType,
    filename: textOf(file.path).split("/").at(-1) || textOf(file.path),
    url: image ? `data:${mediaType};base64,${image}` : "",
    ...(textOf(file.text) ? { text: file.text } : {}),
    ...(typeof file.size === "number" ? { size: file.size } : {}),
    ...(toolCallId ? { toolCallId } : {}),
  };
}

/** @param {Item} file */
function aboutFile(file) {
  const size = typeof file.size === "number" ? `, ${sizeText(file.size)}` : "";
  return `${textOf(file.path)} (${textOf(file.mime)}${size})`;
}

/**
 * @param {Item} item
 * @param {string} code
 * @param {string} detail
 * @returns {Part}
 */
function problem(item, code, detail) {
  return { type: "data-problem", id: nameOf(code, item), data: { code, detail } };
}

/**
 * @param {Item} item
 * @returns {Part}
 */
function ended(item) {
  const words = textOf(item.words);
  const status = STATUS.exec(words)?.[1] ?? "failed";
  return { type: "data-ending", id: nameOf("ending", item), data: { status, text: words } };
}

/**
 * @param {string} kind
 * @param {Item} item
 */
function nameOf(kind, item) {
  return typeof item.seq === "number" ? `${kind}-${item.seq}` : kind;
}

/**
 * @param {unknown} value
 * @returns {Item[]}
 */
function listOf(value) {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
