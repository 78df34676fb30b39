/**
 * What stands above the panes of the inspector: which timeline, which side on a narrow page, and
 * what it can be saved as.
 */

import { h } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { getJson } from "./api.js";

/**
 * An element of the page.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {string} id
 * @param {Tag} _tag
 */
export const part = (id, _tag) => /** @type {HTMLElementTagNameMap[Tag]} */ (document.getElementById(id));

/**
 * The timelines to choose from, chats with what they begin with; the one that is asked for, or the
 * latest, is chosen.
 * @param {string} asked
 */
export async function offer(asked) {
  const choice = part("name", "select");
  const [{ timelines }, { chats }] = await Promise.all([getJson("/api/timelines"), getJson("/api/chats")]);
  /** @type {{name: string, updated?: string}[]} */
  const known = timelines;
  const titles = new Map(chats.map((/** @type {{id: string, title?: string}} */ one) => [one.id, one.title]));
  known.sort((one, other) => ((one.updated ?? "") < (other.updated ?? "") ? 1 : -1));
  const names = known.map((one) => one.name);
  if (asked && !names.includes(asked)) names.unshift(asked);
  choice.replaceChildren(...names.map((name) => h("option", { value: name }, labelOf(name, titles.get(name)))));
  choice.value = asked || (names[0] ?? "");
  choice.addEventListener("change", () => location.assign(`/timeline?name=${encodeURIComponent(choice.value)}`));
  return choice.value;
}

/**
 * @param {string} name
 * @param {string | undefined} title
 */
const labelOf = (name, title) => (title && title !== name ? `${visibleLine(title)} · ${name}` : name);

/** On a narrow page one side is shown. */
export function switchSides() {
  const panes = part("panes", "div");
  for (const side of ["raw", "model"]) {
    part(`show-${side}`, "button").addEventListener("click", () => {
      panes.dataset.show = side;
      for (const one of ["raw", "model"]) part(`show-${one}`, "button").setAttribute("aria-pressed", String(one === side));
      dispatchEvent(new Event("resize"));
    });
  }
}

/** A menu that is left is closed. */
export function closeMenu() {
  const menu = part("export", "details");
  document.addEventListener("click", (event) => {
    if (!menu.querySelector("summary")?.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
}
