/**
 * The person's answer to a question, brought to the server. What it says then comes by the stream;
 * where it could not be told, the card says why, and the answers are back.
 */

import { sectionsOf } from "../src/group.js";
import { isOpen } from "../src/render/approval.js";
import { ApiError, getJson, postJson } from "./api.js";

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {import("../src/call-blocks.js").CallBlocks} CallBlocks */

/** @param {CustomEvent} event `callblocks-answer` */
export async function answer(event) {
  const { approval, verdict, minutes, reason } = event.detail;
  const element = /** @type {import("../src/call-blocks.js").CallBlocks} */ (event.target);
  try {
    await postJson(`/api/approvals/${encodeURIComponent(approval.id)}`, { verdict, minutes, reason });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    element.refuse(approval.id, error.message);
  }
}

/**
 * Take a grant back; the lines of all calls that it let through say so.
 * @param {CustomEvent} event `callblocks-revoke`
 * @param {{setRevoked(ids: Iterable<string>): void}} messages
 */
export async function revoke(event, messages) {
  const { id } = event.detail.approval;
  try {
    await postJson(`/api/approvals/${encodeURIComponent(id)}`, { verdict: "revoke" });
  } catch (error) {
    // One that is over, or was taken back elsewhere, lets nothing through either.
    if (!(error instanceof ApiError) || error.code !== "approval_answered") throw error;
  }
  messages.setRevoked([id]);
}

/**
 * The grants that were taken back, of those that a chat's lines tell of and that would still last.
 * @param {readonly Message[]} messages
 * @returns {Promise<string[]>}
 */
export async function revokedIn(messages) {
  const ids = new Set(messages.flatMap(({ parts }) => parts.flatMap(lastingGrant)));
  if (ids.size === 0) return [];
  const { approvals } = await getJson("/api/approvals?state=revoked");
  return approvals.map((/** @type {{id: string}} */ one) => one.id).filter((/** @type {string} */ id) => ids.has(id));
}

/** @param {import("../src/types.js").Part} part */
function lastingGrant(part) {
  const { id, minutes, expiresAt } = part?.data ?? {};
  return minutes && expiresAt * 1000 > Date.now() ? [id] : [];
}

/**
 * How many questions of a message wait.
 * @param {Message | null} message
 */
export function waitingIn(message) {
  if (!message) return 0;
  return sectionsOf(message, { live: true }).filter((one) => one.kind === "approval" && isOpen(one.approval)).length;
}
