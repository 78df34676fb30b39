/**
 * The button that goes round system → light → dark. The choice is kept for all tabs, as plain text:
 * `theme.js` reads it before the first paint.
 */

import { h, set } from "../src/dom.js";
import { icon } from "./icons.js";

const NAME = "callblocks.theme";
const NEXT = /** @type {Record<string, string>} */ ({ system: "light", light: "dark", dark: "system" });

/** @returns {HTMLButtonElement} */
export function themeButton() {
  const button = h("button", { type: "button", class: "btn icon theme", "data-kind": "quiet" });
  const show = () => {
    const theme = current();
    set(button, "aria-label", `Theme: ${theme}`);
    set(button, "title", `Theme: ${theme}`);
    button.replaceChildren(icon(theme));
  };
  button.addEventListener("click", () => {
    choose(NEXT[current()] ?? "system");
    show();
  });
  addEventListener("storage", (event) => {
    if (event.key !== NAME) return;
    apply(event.newValue ?? "system");
    show();
  });
  show();
  return button;
}

/** The theme that was chosen. */
export function current() {
  return document.documentElement.dataset.theme ?? "system";
}

/** @param {string} theme */
export function choose(theme) {
  apply(theme);
  try {
    if (theme === "system") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, theme);
  } catch {
    // It holds for this page then.
  }
}

/** @param {string} theme */
function apply(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
