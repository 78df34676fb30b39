/**
 * What stands at the end of a call's line: Cancel or Run again, its time, and a menu that copies.
 *
 *     file_read(path=tides.csv)                                             14 ms  ⋯
 *
 * The element copies by itself. All else is the page's: `callActions` of the element names what it
 * can do, and `callblocks-call` `{call, action}` says what the person wants.
 *
 * @module
 */

import { lineText, wholeText } from "../display.js";
import { h, set } from "../dom.js";
import { visible, visibleLine } from "../safe.js";
import { t } from "../words.js";
import { exactDuration } from "./clock.js";

/** @typedef {import("../types.js").Call} Call */
/** @typedef {import("./host.js").Host} Host */

const WORDS = { cancel: "Cancel", again: "Run again", timeline: "Show on the timeline" };

/**
 * @param {Call} call
 * @param {string} state
 * @param {Host} host
 * @returns {HTMLElement[]}
 */
export function actionsOf(call, state, host) {
  const found = [];
  const can = (/** @type {string} */ action) => host.callActions.has(action);
  if (call.state === "running" && can("cancel")) found.push(button(call, "cancel", host));
  if (call.state === "failed" && can("again")) found.push(button(call, "again", host));
  if (call.seconds !== undefined && state !== "pending" && state !== "not-run") found.push(h("span", { class: "call-took" }, exactDuration(call.seconds)));
  if (can("copy")) found.push(menuButton(call, host));
  return found;
}

/**
 * @param {Call} call
 * @param {"cancel" | "again"} action
 * @param {Host} host
 */
function button(call, action, host) {
  const words = t(WORDS[action]);
  const node = h("button", { type: "button", class: "btn small", "aria-label": `${words}: ${visibleLine(call.name)}` }, words);
  node.addEventListener("click", () => {
    node.disabled = true;
    host.emit("callblocks-call", { call, action });
  });
  return node;
}

/**
 * @param {Call} call
 * @param {Host} host
 */
function menuButton(call, host) {
  const node = h("button", { type: "button", class: "btn small icon", "data-kind": "quiet", "aria-expanded": "false", "aria-label": `${t("Copy or run again")}: ${visibleLine(call.name)}` }, "⋯");
  node.addEventListener("click", () => {
    const menu = h("div", { class: "menu-pop", popover: "auto" });
    const add = (/** @type {string} */ words, /** @type {() => void} */ work) =>
      menu.append(h("button", { type: "button", onclick: () => (menu.hidePopover(), work()) }, t(words)));
    add("Copy the call", () => void copy(lineText(call), host));
    if (wholeText(call)) add("Copy the result", () => void copy(visible(wholeText(call)), host));
    for (const [action, words] of Object.entries({ "copy-as": "Copy the call as…", ...(call.state === "running" ? {} : { again: WORDS.again }), timeline: WORDS.timeline })) {
      if (host.callActions.has(action)) add(words, () => host.emit("callblocks-call", { call, action }));
    }
    menu.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
      set(node, "aria-expanded", "false");
      menu.remove();
    });
    node.after(menu);
    const { bottom, right } = node.getBoundingClientRect();
    menu.style.setProperty("top", `${Math.min(bottom + 4, Math.max(8, innerHeight - 220))}px`);
    menu.style.setProperty("right", `${Math.max(8, document.documentElement.clientWidth - right)}px`);
    menu.showPopover();
    set(node, "aria-expanded", "true");
    menu.querySelector("button")?.focus();
  });
  return node;
}

/**
 * @param {string} text
 * @param {Host} host
 */
async function copy(text, host) {
  try {
    await navigator.clipboard.writeText(text);
    host.announce(t("Copied"));
  } catch {
    host.announce(t("Not copied"));
  }
}
