/**
 * The questions of a message, by the call that each is about.
 *
 * Our server tells of a question in a part of its own, and from version 6 on a client keeps it with
 * the call as well. Either may know more: the part has the reason and the preview, the call may
 * have the answer first.
 *
 * @module
 */

import { isCallPart, toolName } from "./calls.js";
import { isObject, noteOf, objectOf, textOf, textsOf } from "./notes.js";

/** @import {Approval, Part} from "./types.js" */

/**
 * @param {readonly Part[]} parts
 * @returns {Map<string, Approval>}
 */
export function askedIn(parts) {
  /** @type {Map<string, Approval>} */
  const asked = new Map();
  for (const part of parts) {
    const approval = isQuestion(part) ? approvalOf(part) : null;
    if (!approval) continue;
    const before = asked.get(approval.callId);
    asked.set(approval.callId, before?.id === approval.id ? merged(before, approval) : approval);
  }
  return asked;
}

/**
 * The question of a `data-approval` part, or of a call that carries one itself.
 * @param {Part} part
 * @returns {Approval | null}
 */
export function approvalOf(part) {
  if (part.type === "data-approval") return askedApart(part);
  const asked = part.approval;
  if (!isObject(asked) || !textOf(asked.id)) return null;
  const { askedAt } = noteOf(part);
  return {
    id: textOf(asked.id),
    callId: textOf(part.toolCallId),
    tool: toolName(part),
    input: part.input,
    reason: "",
    ...answerOf(asked.approved, asked.reason),
    ...(askedAt === undefined ? {} : { askedAt }),
  };
}

/** @param {Part} part */
function isQuestion(part) {
  if (!isObject(part) || typeof part.type !== "string") return false;
  return part.type === "data-approval" || isCallPart(part);
}

/**
 * @param {Approval} one
 * @param {Approval} other
 * @returns {Approval}
 */
function merged(one, other) {
  const [less, more] = one.reason ? [other, one] : [one, other];
  return { ...less, ...more, input: more.input ?? less.input };
}

/**
 * @param {Part} part
 * @returns {Approval | null}
 */
function askedApart(part) {
  const asked = objectOf(part.data);
  const id = textOf(asked.id) || textOf(part.id);
  if (!id) return null;
  const { askedAt } = noteOf(part);
  return {
    id,
    callId: textOf(asked.toolCallId),
    tool: textOf(asked.toolName) || "tool",
    input: asked.input,
    reason: textOf(asked.reason),
    ...(textOf(asked.preview) ? { preview: asked.preview } : {}),
    ...(textsOf(asked.tainted).length ? { tainted: textsOf(asked.tainted) } : {}),
    ...(asked.hidden === true ? { hidden: true } : {}),
    ...(Number.isFinite(asked.minutes) ? { minutes: asked.minutes, expiresAt: Number(asked.expiresAt) } : {}),
    ...answerOf(asked.approved, asked.answer),
    ...(askedAt === undefined ? {} : { askedAt }),
  };
}

/**
 * @param {unknown} approved
 * @param {unknown} words
 * @returns {{approved?: boolean, answer?: string}}
 */
function answerOf(approved, words) {
  if (typeof approved !== "boolean") return {};
  return { approved, ...(textOf(words) ? { answer: textOf(words) } : {}) };
}
