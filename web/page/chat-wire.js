/**
 * The requests of one chat. Streams are asked for in the form of version 5: they go on while a
 * question waits, and answers are told apart from them.
 */

import { ApiError, ask, getJson, post, postJson } from "./api.js";

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {"idle" | "running" | "waiting" | "interrupted"} Status */
/**
 * What is said. `edit` is the turn whose message it is another version of, `again` the one whose
 * answer is asked for once more, `after` the one that it follows where that is not the last.
 * @typedef {object} Said
 * @property {string} text
 * @property {import("./attachments.js").Attached[]} files
 * @property {Record<string, string>} choice
 * @property {string} [edit]
 * @property {string} [again]
 * @property {string} [after]
 * @property {{turn: string, call: string}} [call] which is made again
 */
/** @typedef {{messages: Message[], last: number, status: Status, turn: string, branch: string}} ShownChat */

const FORM = { "x-callblocks-sdk-version": "5" };

/**
 * What was said in a chat; null where there is none of that name.
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {Record<string, string>} [query] `turn` of a branch, and how many of the `last` messages
 * @returns {Promise<ShownChat | null>}
 */
export async function shownChat(id, signal, query = {}) {
  const asked = new URLSearchParams(query);
  try {
    return await getJson(`/api/chat/${encodeURIComponent(id)}${asked.size ? `?${asked}` : ""}`, { headers: FORM, signal });
  } catch (error) {
    if (error instanceof ApiError && error.code === "unknown_timeline") return null;
    throw error;
  }
}

/**
 * The stream of the turn that runs, all of it or after an event; null where none does.
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {string} [after]
 */
export async function streamOf(id, signal, after = "") {
  const headers = { ...FORM, ...(after ? { "last-event-id": after } : {}) };
  const response = await ask(`/api/chat/${encodeURIComponent(id)}/stream`, { headers, signal });
  return response.status === 204 ? null : response;
}

/**
 * Say something; the stream of the turn that answers.
 * @param {string} id
 * @param {Message} prompt
 * @param {Said} said
 * @param {AbortSignal} signal
 */
export function postSaid(id, prompt, { choice, edit, again, after, call }, signal) {
  if (call) return post(`/api/chat/${encodeURIComponent(id)}/again`, call, { headers: FORM, signal });
  const of = edit ? { messageId: `${edit}.user` } : again ? { messageId: again, trigger: "regenerate-message" } : after ? { after } : {};
  return post("/api/chat", { id, messages: [prompt], ...of, ...choice }, { headers: FORM, signal });
}

/** @param {string} id */
export function stopTurn(id) {
  return postJson(`/api/chat/${encodeURIComponent(id)}/stop`, {});
}

/** @param {string} id */
export function resumeTurn(id) {
  return postJson(`/api/chat/${encodeURIComponent(id)}/resume`, {});
}

/**
 * The parts of what the person says: the files first, as the server gives them back.
 * @param {Said} said
 */
export function partsOf({ text, files }) {
  const given = files.map(({ name, mime, url }) => ({ type: "file", mediaType: mime, filename: name, url }));
  return text ? [...given, { type: "text", text }] : given;
}
