/**
 * Under a turn that was interrupted: the way to let it go on.
 */

import { h } from "../src/dom.js";

/** @param {() => Promise<void>} resume */
export function resumeBar(resume) {
  const button = h("button", { type: "button", class: "btn", "data-kind": "primary" }, "Resume");
  button.addEventListener("click", async () => {
    button.disabled = true;
    await resume();
    button.disabled = false;
  });
  const words = h("span", {}, "This turn was interrupted. It can go on where it was.");
  const bar = h("div", { class: "resume" }, words, button);
  bar.hidden = true;
  return bar;
}
