/**
 * Text that was on the screen when a server died. A reply is on the timeline whole or not at all, so
 * of the last one only the page knows: what was read stays, marked where it ends.
 *
 * It is kept for the tab as well, so that it stays when the page is loaded again.
 */

import { keep, kept } from "./keep.js";

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {import("../src/types.js").Part} Part */

const EVERY = 1000;
const LONGEST = 200_000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} chat */
const nameOf = (chat) => `seen.${chat}`;

/**
 * Keep what is seen of a message under way; once a second is enough.
 * @param {string} chat
 * @param {Message} message
 */
export function keepSeen(chat, message) {
  timer ??= setTimeout(() => {
    timer = undefined;
    const parts = lastSaid(message).map(({ type, text }) => ({ type, text: String(text).slice(-LONGEST) }));
    keep(nameOf(chat), parts.length ? { id: message.id, parts } : undefined);
  }, EVERY);
}

/** @param {string} chat */
export function forgetSeen(chat) {
  clearTimeout(timer);
  timer = undefined;
  keep(nameOf(chat), undefined);
}

/**
 * What was seen before the page was loaded.
 * @param {string} chat
 * @returns {Message | null}
 */
export function seenBefore(chat) {
  const seen = kept(nameOf(chat), /** @type {any} */ (null));
  const isMessage = typeof seen?.id === "string" && Array.isArray(seen.parts);
  return isMessage ? { id: seen.id, role: "assistant", parts: seen.parts } : null;
}

/**
 * The messages of the server, the last with the text that it lost.
 * @param {Message[]} messages
 * @param {Message | null} seen as the page had it
 * @returns {Message[]}
 */
export function withLost(messages, seen) {
  const last = messages.at(-1);
  if (!seen || last?.id !== seen.id || last.metadata?.status !== "interrupted") return messages;
  const known = last.parts.filter(isSaid).map((part) => String(part.text));
  const lost = lastSaid(seen).filter(({ text }) => !known.some((one) => one.startsWith(String(text).trimEnd())));
  if (lost.length === 0) return messages;
  const kept = lost.map((part) => ({ type: part.type, text: String(part.text), state: "done", providerMetadata: { callblocks: { kept: true } } }));
  const others = last === seen ? last.parts.filter((part) => !lost.includes(part)) : last.parts;
  const at = others.findIndex((part) => part.type === "data-ending");
  const parts = at < 0 ? [...others, ...kept] : [...others.slice(0, at), ...kept, ...others.slice(at)];
  return [...messages.slice(0, -1), { ...last, parts }];
}

/**
 * What a message says since its last call.
 * @param {Message} message
 * @returns {Part[]}
 */
function lastSaid({ parts }) {
  const from = parts.findLastIndex((part) => part.type === "dynamic-tool" || part.type.startsWith("tool-")) + 1;
  return parts.slice(from).filter((part) => isSaid(part) && String(part.text).trim() !== "");
}

/** @param {Part} part */
const isSaid = (part) => (part.type === "text" || part.type === "reasoning") && typeof part.text === "string";
