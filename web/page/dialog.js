/**
 * Dialogs: over the page, closed by Esc, by their button and by a click beside them; then they go,
 * and focus is back where it was.
 */

import { h } from "../src/dom.js";
import { icon } from "./icons.js";

/**
 * Show a dialog.
 * @param {HTMLDialogElement} dialog
 */
export function openDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * The head of a dialog: its title, what can be done, and the button that closes it.
 * @param {HTMLDialogElement} dialog
 * @param {string} id of the title, which names the dialog
 * @param {string} title
 * @param {...(Node | null)} actions
 */
export function dialogHead(dialog, id, title, ...actions) {
  const close = h(
    "button",
    { type: "button", class: "btn icon", "data-kind": "quiet", "aria-label": "Close", onclick: () => dialog.close() },
    icon("close"),
  );
  return h("header", { class: "sheet-head" }, h("h2", { id }, title), ...actions, close);
}
