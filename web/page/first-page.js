/**
 * A chat in which nothing was said: a sentence, and prompts that are sent by a click.
 *
 * A link may lead to a chat that is not there; then it says so first.
 */

import { h } from "../src/dom.js";

const MOST = 8;
const USUAL = "Write a message below, or start with one of these. Tool calls show up as blocks that you can open; those that need your approval ask first.";
const MISSING = "It may have been removed, or the link comes from another machine. Write a message below to begin it anew, or start with one of these.";

/**
 * @param {import("./choosers.js").Scenario[]} scenarios
 * @param {(prompt: string) => void} send
 * @param {boolean} [isMissing] whether the address names a chat that is not there
 */
export function firstPage(scenarios, send, isMissing = false) {
  const cards = scenarios.slice(0, MOST).map(({ title, prompt }) => card(title, prompt, send));
  return h(
    "section",
    { class: "first", "aria-labelledby": "first-title" },
    h("h2", { id: "first-title" }, isMissing ? "This chat is not here" : "What shall we do?"),
    h("p", {}, isMissing ? MISSING : USUAL),
    cards.length > 0 && h("ul", { class: "cards", "aria-label": "Prompts to begin with" }, ...cards),
  );
}

/**
 * @param {string} title
 * @param {string} prompt
 * @param {(prompt: string) => void} send
 */
function card(title, prompt, send) {
  const words = title ? [h("b", {}, title), h("span", {}, prompt)] : [h("b", {}, prompt)];
  return h("li", {}, h("button", { type: "button", class: "card", onclick: () => send(prompt) }, ...words));
}
