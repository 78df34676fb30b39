/**
 * What a page knows of a part beside what the part says: when it began, what it told meanwhile.
 *
 * The clock of the page is meant, and the objects are the keys: nothing of it is in a message, so
 * a message from a stream is equal to the same one that was loaded whole.
 *
 * @module
 */

/**
 * @typedef {object} Note
 * @property {number} [startedAt] when a call began to run, or a text to be written
 * @property {number} [endedAt]
 * @property {number} [askedAt] when a question was asked
 * @property {string} [progress] the last that a running call told
 * @property {string} [inputText] the input of a call as far as it is written
 * @property {string} [error] why the stream says that it ended
 * @property {boolean} [aborted]
 * @property {boolean} [finished]
 * @property {number | undefined} [queue] how many replies are served before this message
 * @property {string[]} [unknown] types of chunks that nobody here knows
 */

/** @type {WeakMap<object, Note>} */
const notes = new WeakMap();

/**
 * What is known of a part, or of a message.
 * @param {unknown} about
 * @returns {Readonly<Note>}
 */
export function noteOf(about) {
  return (isObject(about) && notes.get(about)) || {};
}

/**
 * Keep more about a part, or about a message.
 * @param {object} about
 * @param {Note} more
 */
export function note(about, more) {
  notes.set(about, { ...notes.get(about), ...more });
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null;
}

/**
 * A value as an object where it is one, and an empty one otherwise.
 * @param {unknown} value
 * @returns {Record<string, any>}
 */
export function objectOf(value) {
  return isObject(value) ? value : {};
}

/**
 * The texts of a list.
 * @param {unknown} value
 * @returns {string[]}
 */
export function textsOf(value) {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/**
 * A value as text where it is one, and nothing otherwise.
 * @param {unknown} value
 * @returns {string}
 */
export function textOf(value) {
  return typeof value === "string" ? value : "";
}
