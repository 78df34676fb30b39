/**
 * How a turn ended, in one line; nothing for one that was answered.
 *
 *     stopped          Stopped.
 *     failed           The turn failed: model_unreachable.
 *     cut              The connection ended before the turn did.
 *
 * @module
 */

/** @type {Map<string, string>} */
const WORDS = new Map([
  ["stopped", "Stopped"],
  ["limited", "The turn reached a limit"],
  ["failed", "The turn failed"],
  ["interrupted", "The turn was interrupted"],
  ["cut", "The connection ended before the turn did"],
]);

/**
 * @param {string} status
 * @param {string} code why, as a code
 * @param {string} error why, as the server told it: a sentence of its own
 * @returns {string}
 */
export function endingText(status, code, error) {
  if (error) return error;
  if (!status || status === "answered") return "";
  const words = WORDS.get(status) ?? `The turn ended: ${status}`;
  return code && code !== status ? `${words}: ${code}.` : `${words}.`;
}
