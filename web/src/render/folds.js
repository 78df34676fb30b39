/**
 * The quiet folds: what the model thought, and a validation of an older message.
 *
 *     › Thought for 6 s
 *     ✅ Validation (show details)
 *
 * @module
 */

import { h, set, setText } from "../dom.js";
import { visible } from "../safe.js";
import { toggleWords } from "./batch.js";
import { duration } from "./clock.js";
import { remember } from "./host.js";

/** @typedef {import("../types.js").Thought} Thought */
/** @typedef {import("../types.js").Validation} Validation */
/** @typedef {import("./host.js").Host} Host */

/**
 * @param {Thought} first
 * @param {Host} host
 * @returns {import("../dom.js").View<Thought>}
 */
export function thoughtView(first, host) {
  const label = h("summary");
  const text = h("div", { class: "reasoning-text" });
  const node = h("details", { class: "reasoning" }, label, text);
  remember(node, first.key, host);
  return {
    node,
    update({ text: words, live, seconds }) {
      const time = seconds === undefined ? "Thought" : `Thought for ${duration(Math.round(seconds))}`;
      setText(label, live ? "Thinking" : time);
      set(node, "data-live", live);
      setText(text, visible(words.trim()));
    },
  };
}

/**
 * @param {Validation} first
 * @param {Host} host
 * @returns {import("../dom.js").View<Validation>}
 */
export function validationView(first, host) {
  const icon = h("span", { class: "batch-icon", "aria-hidden": "true" }, "✓");
  const label = h("span", { class: "batch-label" }, "Validation");
  const text = h("pre", { class: "calls validation-text" });
  const node = h("details", { class: "batch" }, h("summary", {}, icon, label, toggleWords()), text);
  remember(node, first.key, host);
  return { node, update: (next) => setText(text, visible(next.text.trim())) };
}
