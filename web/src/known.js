/**
 * The parts of a message by what chunks call them, while a stream is read.
 *
 * @module
 */

import { isObject, note, textOf } from "./notes.js";

/** @import {Chunk, Message, Part} from "./types.js" */

/**
 * @typedef {object} Known
 * @property {Map<string, Part>} texts those that are still written
 * @property {Map<string, Part>} calls by their id
 * @property {Map<string, Part>} asked calls by the approval that is asked for
 * @property {Map<string, Part>} data
 */
/** @typedef {(message: Message, chunk: Chunk, known: Known, now: number) => void} Take */

/** @type {WeakMap<Message, Known>} */
const known = new WeakMap();

/**
 * What is known of a message; one that was loaded, or came in a response before, has parts.
 * @param {Message} message
 * @returns {Known}
 */
export function knownOf(message) {
  let found = known.get(message);
  if (!found) {
    found = { texts: new Map(), calls: new Map(), asked: new Map(), data: new Map() };
    known.set(message, found);
    for (const part of message.parts) learn(found, part);
  }
  return found;
}

/**
 * @param {Message} message
 * @param {Part} part
 * @returns {Part}
 */
export function add(message, part) {
  message.parts.push(part);
  return part;
}

/**
 * Add to what is said of a message as a whole.
 * @param {Message} message
 * @param {unknown} metadata
 */
export function describe(message, metadata) {
  if (isObject(metadata)) message.metadata = { ...message.metadata, ...metadata };
}

/**
 * A text is written to its end.
 * @param {Part} part
 * @param {number} now
 */
export function endPart(part, now) {
  part.state = "done";
  note(part, { endedAt: now });
}

/** @param {Part} part */
export const isText = (part) => isObject(part) && (part.type === "text" || part.type === "reasoning");

/**
 * What a chunk calls a part; an id is a text or a number.
 * @param {string} type
 * @param {unknown} id
 * @returns {string}
 */
export function nameOf(type, id) {
  return `${type} ${typeof id === "number" ? id : textOf(id)}`;
}

/**
 * What the provider says in a chunk, under the name that it has in a part.
 * @param {Chunk} chunk
 * @param {string} name
 * @returns {Record<string, unknown>}
 */
export function provided(chunk, name) {
  return chunk.providerMetadata === undefined ? {} : { [name]: chunk.providerMetadata };
}

/**
 * Those of the named values that a chunk has.
 * @param {Chunk} chunk
 * @param {...string} names
 * @returns {Record<string, any>}
 */
export function picked(chunk, ...names) {
  const there = names.filter((name) => chunk[name] !== undefined);
  return Object.fromEntries(there.map((name) => [name, chunk[name]]));
}

/**
 * @param {Known} parts
 * @param {Part} part
 */
function learn(parts, part) {
  if (!isObject(part)) return;
  if (textOf(part.toolCallId)) parts.calls.set(part.toolCallId, part);
  if (textOf(part.approval?.id)) parts.asked.set(part.approval.id, part);
  if (textOf(part.type).startsWith("data-")) parts.data.set(nameOf(part.type, part.id), part);
}
