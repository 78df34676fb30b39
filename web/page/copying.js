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
 */
export async function copyBy(button, text) {
  const words = button.dataset.words ?? button.textContent ?? "";
  button.dataset.words = words;
  button.textContent = (await copied(text)) ? "Copied" : "Not copied";
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = String(setTimeout(() => (button.textContent = words), SAID));
}

/**
 * Whether the text is in the clipboard now.
 * @param {string} text
 */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that is not served over https or from this machine has no clipboard of its own.
    return selectAndCopy(text);
  }
}

/** @param {string} text */
function selectAndCopy(text) {
  const field = h("textarea", { class: "sr", "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
