/**
 * Parts that stand for a call, as what is drawn of it.
 *
 *     input-streaming                         writing
 *     input-available, approval-responded     running, or waiting while a question is open
 *     approval-requested                      waiting
 *     output-available                        done
 *     output-error, output-denied             failed, denied
 *
 * @module
 */

import { noteOf, textOf, textsOf } from "./notes.js";

/** @import {Approval, Call, CallState, Part} from "./types.js" */

const DENIED = "approval_denied";
const NO_RESULT = "interrupted: the turn ended before this call did";

/**
 * Whether a part is a call.
 * @param {Part} part
 * @returns {boolean}
 */
export function isCallPart(part) {
  return part.type === "dynamic-tool" || (part.type.startsWith("tool-") && part.type.length > 5);
}

/**
 * The name of the tool that a part calls.
 * @param {Part} part
 * @returns {string}
 */
export function toolName(part) {
  return textOf(part.toolName) || (part.type.startsWith("tool-") ? part.type.slice(5) : "") || "tool";
}

/**
 * Who of a team a part is of; nobody where only one speaks.
 * @param {Part} part
 * @returns {string}
 */
export function memberOf(part) {
  const metadata = part.callProviderMetadata ?? part.providerMetadata;
  return textOf(metadata?.callblocks?.member);
}

/**
 * A call as it is drawn; `isLive` false says that nothing comes any more.
 * @param {Part} part
 * @param {string} id
 * @param {Approval | undefined} approval the question about it
 * @param {boolean} isLive
 * @returns {Call}
 */
export function callOf(part, id, approval, isLive) {
  const before = done.get(part);
  const isDone = part.state === "output-available" && part.preliminary !== true;
  if (before && isDone && before.id === id && before.output === part.output) return before;
  const call = newCall(part, id, approval, isLive);
  if (call.state === "done") done.set(part, call);
  return call;
}

/** @type {WeakMap<Part, Call>} What is done does not change: it stays the same object. */
const done = new WeakMap();

/**
 * @param {Part} part
 * @param {string} id
 * @param {Approval | undefined} approval
 * @param {boolean} isLive
 * @returns {Call}
 */
function newCall(part, id, approval, isLive) {
  const state = stateOf(part, approval);
  /** @type {Call} */
  const call = { id, name: toolName(part), input: part.input ?? part.rawInput, state };
  const { startedAt, progress } = noteOf(part);
  if (state === "running" && startedAt !== undefined) call.startedAt = startedAt;
  const seconds = secondsOf(part);
  if (seconds !== undefined && !isGoing(state) && state !== "waiting") call.seconds = seconds;
  if (state === "running" && progress) call.progress = progress;
  if (part.output !== undefined) call.output = part.output;
  if (state === "failed" || state === "denied") call.error = whyNot(part, approval, state);
  if (typeof part.shown === "string") call.shown = part.shown;
  if (textsOf(part.notices).length) call.notices = textsOf(part.notices);
  if (textOf(part.code)) call.code = part.code;
  if (part.parsed) call.parsed = part.parsed;
  return isLive || !isGoing(state) ? call : { ...call, state: "failed", error: NO_RESULT };
}

/**
 * How long a call took: as the server says, else as the page saw it. A page that hears a turn again sees a call
 * begin and end at once.
 * @param {Part} part
 */
function secondsOf(part) {
  const said = (part.callProviderMetadata ?? part.providerMetadata)?.callblocks?.seconds;
  if (typeof said === "number" && said >= 0) return said;
  const { startedAt, endedAt } = noteOf(part);
  return startedAt !== undefined && endedAt !== undefined ? Math.max(0, (endedAt - startedAt) / 1000) : undefined;
}

/** @param {CallState} state */
const isGoing = (state) => state === "writing" || state === "running";

/**
 * @param {Part} part
 * @param {Approval | undefined} approval
 * @returns {CallState}
 */
function stateOf(part, approval) {
  switch (part.state) {
    case "input-streaming":
      return "writing";
    case "output-available":
      return part.preliminary === true ? "running" : "done";
    case "output-denied":
      return "denied";
    case "output-error":
      return isDenial(part, approval) ? "denied" : "failed";
    default:
      return openState(part, approval);
  }
}

/**
 * A call that is not over; one of a state that is not known may carry its end all the same.
 * @param {Part} part
 * @param {Approval | undefined} approval
 * @returns {CallState}
 */
function openState(part, approval) {
  if (textOf(part.errorText)) return "failed";
  if (part.state !== "input-available" && part.output !== undefined) return "done";
  if (approval?.approved === false) return "denied";
  const isOpen = approval !== undefined && approval.approved === undefined;
  return isOpen || part.state === "approval-requested" ? "waiting" : "running";
}

/**
 * @param {Part} part
 * @param {Approval | undefined} approval
 */
function isDenial(part, approval) {
  const code = textOf(part.errorText).split(":", 1)[0];
  return code === DENIED || (approval?.approved === false && !code);
}

/**
 * @param {Part} part
 * @param {Approval | undefined} approval
 * @param {CallState} state
 */
function whyNot(part, approval, state) {
  const words = textOf(part.errorText);
  if (words || state === "failed") return words;
  return approval?.answer ? `denied: ${approval.answer}` : "denied";
}
