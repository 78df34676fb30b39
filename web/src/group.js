/**
 * The parts of a message as the sections that are drawn.
 *
 *     text  call  call  step-start  call  text        prose  batch of three  prose
 *
 * Calls with nothing but blank text between them are one batch. A batch belongs to one who speaks:
 * what another member of a team says meanwhile does not end it. Questions and files stand right
 * after the batch of their call, outside its fold. A key stays what it was while parts are added,
 * and sections keep their order: nothing jumps.
 *
 * @module
 */

import { isCallPart } from "./calls.js";
import { endingText } from "./endings.js";
import { Grouping } from "./grouping.js";
import { isObject, noteOf, objectOf, textOf } from "./notes.js";

/** @import {Message, Part, Section} from "./types.js" */

/**
 * @typedef {object} Options
 * @property {string} [role]
 * @property {string} [status] how the turn ended
 * @property {string} [code] why, as a code
 * @property {string} [error] why, in words
 * @property {number | undefined} [queue] how many replies are served before this one
 * @property {boolean} [live] false says that nothing comes any more
 */

/**
 * The sections of a message, with how its turn ended.
 * @param {Message} message
 * @param {Options} [options]
 * @returns {Section[]}
 */
export function sectionsOf(message, options = {}) {
  const { status, code } = objectOf(message?.metadata);
  const { error, aborted, queue } = noteOf(message);
  const known = { status: textOf(status) || (aborted ? "stopped" : ""), code: textOf(code) };
  return sections(message?.parts, { role: message?.role, error, queue, ...known, ...options });
}

/**
 * The sections of parts.
 * @param {readonly Part[]} parts
 * @param {Options} [options]
 * @returns {Section[]}
 */
export function sections(parts, options = {}) {
  const given = Array.isArray(parts) ? parts : [];
  const grouping = new Grouping(given, options.live !== false);
  given.forEach((part, index) => takePart(grouping, part, index));
  const text = endingText(textOf(options.status), textOf(options.code), textOf(options.error));
  const status = options.status || "failed";
  if (text) return [...grouping.sections, { kind: "ending", key: "ending", status, text }];
  if (options.queue === undefined) return grouping.sections;
  const place = { kind: /** @type {const} */ ("ending"), key: "queue", status: "queued" };
  return [...grouping.sections, { ...place, text: queueText(options.queue) }];
}

/** @param {number} before */
function queueText(before) {
  if (before === 0) return "Waits for the model, and is the next.";
  return `Waits for the model behind ${before} other ${before === 1 ? "reply" : "replies"}.`;
}

/** @typedef {(grouping: Grouping, part: Part, index: number) => void} Take */

/** @type {Take} */
function takePart(grouping, part, index) {
  const type = isObject(part) ? textOf(part.type) : "";
  if (type && isCallPart(part)) grouping.call(part, index);
  else if (Object.hasOwn(TAKES, type)) TAKES[type]?.(grouping, part, index);
  else grouping.other(part, type, index);
}

/** @type {Take} */
function validate(grouping, part, index) {
  const text = textOf(part.text);
  grouping.end(`validation:${index}`, (key) => ({ kind: "validation", key, text }));
}

/** @type {Take} */
function complain(grouping, part, index) {
  const { code, detail } = objectOf(part.data);
  const said = { code: textOf(code), detail: textOf(detail) };
  grouping.end(`problem:${textOf(part.id) || index}`, (key) => ({ kind: "problem", key, ...said }));
}

/** @type {Take} */
function conclude(grouping, part, index) {
  const { status, text } = objectOf(part.data);
  const said = { status: textOf(status) || "failed", text: textOf(text) };
  grouping.end(`ending:${textOf(part.id) || index}`, (key) => ({ kind: "ending", key, ...said }));
}

/** @type {Take} */
function cite(grouping, part, index) {
  const url = textOf(part.url);
  const title = textOf(part.title) || url || textOf(part.filename) || "source";
  grouping.end(`source:${index}`, (key) => ({ kind: "source", key, title, url }));
}

/** @type {Record<string, Take>} */
const TAKES = {
  text: (grouping, part, index) => grouping.say(part, index),
  reasoning: (grouping, part, index) => grouping.say(part, index),
  "step-start": () => {},
  "data-progress": () => {},
  "data-approval": (grouping, part) => grouping.ask(part),
  "data-grant": (grouping, part) => grouping.grant(part),
  "data-artifact": (grouping, part) => grouping.keep(part),
  "data-member": (grouping, part) => grouping.join(part),
  "data-problem": complain,
  "data-ending": conclude,
  file: (grouping, part, index) => grouping.attach(part, index),
  "source-url": cite,
  "source-document": cite,
  validation: validate,
};
