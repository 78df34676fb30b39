/**
 * Text into the clipboard, and the button says that it is there.
 *
 *     button.onclick = () => copyBy(button, () => text)
 */

import { h } from "../src/dom.js";

const SAID = 1600;

/**
 * Copy a text, and say so on the button for a moment.
 * @param {HTMLElement} button
 * @param {string} text
 * @param {Element} [within] the dialog that is open: nothing beside it can be selected
 */
export async function copyBy(button, text, within = document.body) {
  const words = button.dataset.words ?? button.textContent ?? "";
  button.dataset.words = words;
  button.textContent = (await copied(text, within)) ? "Copied" : "Not copied";
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = String(setTimeout(() => (button.textContent = words), SAID));
}

/**
 * Copy a text; whether it is in the clipboard now.
 * @param {string} text
 * @param {Element} [within]
 */
export async function copied(text, within = document.body) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that is not served over https or from this machine has no clipboard of its own.
    return selectAndCopy(text, within);
  }
}

/**
 * @param {string} text
 * @param {Element} within
 */
function selectAndCopy(text, within) {
  const field = h("textarea", { class: "sr", "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  const focused = document.activeElement;
  within.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
