/**
 * What a call would change: a diff with its lines numbered, the old number where a line goes and
 * the new one elsewhere. Text that is no diff is shown as it is.
 *
 * @module
 */

import { h } from "../dom.js";
import { visible, visibleLine } from "../safe.js";
import { changesOf } from "./unified.js";

/** @typedef {import("./unified.js").Change} Change */
/** @typedef {import("./unified.js").Line} Line */

const SHOWN = 400;
const KINDS = { "+": "add", "-": "del", "@": "gap", " ": null };

/**
 * @param {string} preview
 * @returns {HTMLElement[]}
 */
export function diffsOf(preview) {
  const changes = changesOf(preview);
  if (changes.length > 0) return changes.map(figure);
  return preview.trim() ? [plain(preview)] : [];
}

/** @param {Change} change */
function figure({ name, lines }) {
  const label = visibleLine(name);
  const number = (/** @type {string} */ sign) => lines.filter((one) => one.sign === sign).length;
  const body = region(`Diff of ${label}`);
  body.append(...lines.slice(0, SHOWN).map(drawn));
  const caption = h(
    "figcaption",
    {},
    h("b", {}, label),
    h("span", { class: "sr" }, "changes: "),
    h("span", { class: "add-count" }, `+${number("+")}`),
    h("span", { class: "del-count" }, `−${number("-")}`),
  );
  return h("figure", { class: "diff" }, caption, body, rest(body, lines.slice(SHOWN)));
}

/** @param {Line} line */
function drawn({ sign, number, text }) {
  const said = sign === "@" ? text : `${sign} ${text}`;
  return h("span", { class: KINDS[sign], "data-n": number || "" }, visible(said));
}

/**
 * A long diff is shown in two steps, never in part only.
 * @param {HTMLElement} body
 * @param {Line[]} lines
 */
function rest(body, lines) {
  if (lines.length === 0) return null;
  const words = `... (${lines.length} more lines)`;
  const button = h("button", { type: "button", class: "call-more" }, words);
  button.addEventListener("click", () => {
    body.append(...lines.map(drawn));
    body.focus();
    button.remove();
  });
  return button;
}

/** @param {string} preview */
function plain(preview) {
  const body = region("What it would do");
  body.classList.add("plain");
  body.textContent = visible(preview);
  return h("figure", { class: "diff" }, body);
}

/** @param {string} label */
function region(label) {
  return h("pre", { tabindex: "0", role: "group", "aria-label": label });
}
