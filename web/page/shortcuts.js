/**
 * Keys that work all over a page, and the dialog that lists them.
 *
 *     shortcuts([{key: "n", words: "New chat", run: () => location.assign("/")}])
 *
 * A key counts where nobody writes, and alone: with Ctrl, Alt or ⌘ it belongs to the browser.
 */

import { h } from "../src/dom.js";
import { dialogHead, openDialog } from "./dialog.js";

/** @typedef {{key: string, shown?: string, words: string, run?: (event: KeyboardEvent) => void}} Shortcut */

/** @param {Shortcut[]} list */
export function shortcuts(list) {
  const all = [...list, { key: "?", words: "This list", run: () => showList(all) }];
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key !== "Escape" && (isWriting(event) || document.querySelector("dialog[open]"))) return;
    const found = all.find((one) => one.run && one.key === (event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (!found?.run) return;
    if (event.key !== "Escape") event.preventDefault();
    found.run(event);
  });
}

/**
 * Whether a key is text for a field, also for one inside a custom element.
 * @param {KeyboardEvent} event
 */
function isWriting(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input:not([type=range]), textarea, select");
}

/** @param {Shortcut[]} list */
function showList(list) {
  const rows = list.map((one) => [h("dt", {}, h("kbd", {}, one.shown ?? one.key.toUpperCase())), h("dd", {}, one.words)]);
  const dialog = h("dialog", { class: "sheet", "data-size": "small", "aria-labelledby": "keys-title" });
  dialog.append(dialogHead(dialog, "keys-title", "Keyboard"), h("dl", { class: "keys" }, ...rows.flat()));
  openDialog(dialog);
}
