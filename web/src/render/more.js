/**
 * `... (12 more lines)`: the way to the whole of a result.
 *
 * Where the whole is an artifact, it is a link to it. Else a listener to `callblocks-open` may
 * show the result; without one it opens in its place.
 *
 * @module
 */

import { wholeText } from "../display.js";
import { h, setText } from "../dom.js";
import { fileHref, visible } from "../safe.js";
import { opens } from "./host.js";

/** @typedef {import("../types.js").Call} Call */

// More than this in one element makes a page slow; the rest is in the timeline.
const LONGEST = 200_000;

/**
 * @param {Call} call
 * @param {string} words
 * @param {HTMLElement} result where the first lines stand
 * @param {import("./host.js").Host} host
 * @returns {HTMLElement}
 */
export function moreOf(call, words, result, host) {
  const href = fileHref(call.more?.href);
  if (href) {
    const link = h("a", { class: "call-more", href, target: "_blank", rel: "noopener" }, words);
    opens(link, host, () => ({ result: call, href }));
    return link;
  }
  const button = h("button", { class: "call-more", type: "button", "aria-expanded": "false" }, words);
  const short = result.textContent ?? "";
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    if (!isOpen && !host.emit("callblocks-open", { result: call }, true)) return;
    toggle(button, result, isOpen, isOpen ? short : wholeOf(call), words);
  });
  return button;
}

/**
 * @param {HTMLElement} button
 * @param {HTMLElement} result
 * @param {boolean} isOpen
 * @param {string} text
 * @param {string} words
 */
function toggle(button, result, isOpen, text, words) {
  setText(result, text);
  result.toggleAttribute("data-cut", isOpen);
  button.setAttribute("aria-expanded", String(!isOpen));
  setText(button, isOpen ? words : "(show less)");
}

/** @param {Call} call */
function wholeOf(call) {
  const text = wholeText(call);
  return visible(text.length > LONGEST ? `${text.slice(0, LONGEST)}\n…` : text);
}
