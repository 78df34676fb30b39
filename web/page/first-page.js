/**
 * A chat in which nothing was said: a sentence, and prompts that are sent by a click.
 */

import { h } from "../src/dom.js";

const MOST = 8;

/**
 * @param {import("./choosers.js").Scenario[]} scenarios
 * @param {(prompt: string) => void} send
 */
export function firstPage(scenarios, send) {
  const cards = scenarios.slice(0, MOST).map(({ title, prompt }) => card(title, prompt, send));
  return h(
    "section",
    { class: "first", "aria-labelledby": "first-title" },
    h("h2", { id: "first-title" }, "What shall we do?"),
    h("p", {}, "Say it below, or begin with one of these. Each call shows up as a block that you can open; what could change something asks you first."),
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
