/**
 * The person's answer to a question, brought to the server. What it says then comes by the stream;
 * where it could not be told, the card says why, and the answers are back.
 */

import { ApiError, postJson } from "./api.js";

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
