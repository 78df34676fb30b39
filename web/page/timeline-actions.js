/**
 * What can be done with a timeline: check it, and save it as a file.
 */

import { h } from "../src/dom.js";
import { visible, visibleLine } from "../src/safe.js";
import { ApiError, ask, getJson } from "./api.js";

const LISTED = 20;

/**
 * Have the server check every hash, and say what it found.
 * @param {string} name
 * @param {HTMLElement} place
 * @param {(seq: number) => void} picked
 */
export async function verify(name, place, picked) {
  place.replaceChildren(h("p", {}, "Checking every hash and file …"));
  try {
    const { problems, count, hash } = await getJson(`/api/timelines/${encodeURIComponent(name)}/verify`);
    place.replaceChildren(...(problems.length ? findings(problems, picked) : [good(count, hash)]), away(place));
  } catch (error) {
    fault(place, error);
  }
}

/**
 * @param {number} count
 * @param {string} hash
 */
function good(count, hash) {
  const words = `Verified: ${count.toLocaleString("en")} blocks, every hash and every file is as it was written. The last hash is `;
  return h("p", {}, words, h("code", {}, visibleLine(hash.slice(0, 12))), ".");
}

/**
 * @param {{seq: number, code: string, message: string}[]} problems
 * @param {(seq: number) => void} picked
 */
function findings(problems, picked) {
  const words = problems.length === 1 ? "1 thing is wrong:" : `${problems.length.toLocaleString("en")} things are wrong:`;
  const rows = problems.slice(0, LISTED).map(({ seq, code, message }) => {
    const jump = h("button", { type: "button", class: "btn", onclick: () => picked(seq) }, `Block ${seq}`);
    return h("li", {}, jump, " ", h("code", {}, visibleLine(code)), ` ${visible(message)}`);
  });
  const left = problems.length - rows.length;
  if (left > 0) rows.push(h("li", {}, `and ${left.toLocaleString("en")} more`));
  return [h("p", { class: "bad" }, words), h("ul", {}, ...rows)];
}

/** @param {HTMLElement} place */
function away(place) {
  return h("button", { type: "button", class: "btn", "data-kind": "quiet", onclick: () => place.replaceChildren() }, "Dismiss");
}

/**
 * Save what is at an address as a file; it is fetched, so that a token goes with it.
 * @param {string} address
 * @param {string} file
 * @param {HTMLElement} place
 */
export async function save(address, file, place) {
  try {
    const blob = await (await ask(address)).blob();
    const href = URL.createObjectURL(blob);
    h("a", { href, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  } catch (error) {
    fault(place, error);
  }
}

/**
 * @param {HTMLElement} place
 * @param {unknown} error
 */
function fault(place, error) {
  if (!(error instanceof ApiError)) throw error;
  place.replaceChildren(h("p", { class: "bad" }, error.message), away(place));
}
