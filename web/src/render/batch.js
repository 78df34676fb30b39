/**
 * A batch of calls: one fold, its header and the lines in it.
 *
 *     🔧 file_read ×3, web_fetch · 7 tool calls · 2.1 s, 1 failed, 3 not run (show details)   ⏳ run_shell_command
 *
 * The lines are made when the fold opens.
 *
 * @module
 */

import { batchLabel, failedLabel, notRunLabel, verdictFor } from "../display.js";
import { h, set, setText } from "../dom.js";
import { visibleLine } from "../safe.js";
import { CallList } from "./call-list.js";
import { exactDuration } from "./clock.js";
import { remember } from "./host.js";

/** @typedef {import("../types.js").Batch} Batch */
/** @typedef {import("./host.js").Host} Host */

/**
 * @param {Batch} first
 * @param {Host} host
 * @returns {import("../dom.js").View<Batch>}
 */
export function batchView(first, host) {
  const head = header();
  const lines = new CallList(host);
  const node = h("details", { class: "batch" }, head.node, lines.node);
  /** @type {Batch} */
  let batch = first;
  let wasRunning = false;
  remember(node, first.key, host, (isOpen) => (isOpen ? lines.show(batch.calls) : lines.close()));
  return {
    node,
    update(next) {
      batch = next;
      const isRunning = next.running !== "";
      set(node, "data-state", isRunning ? "running" : "done");
      head.update(next);
      if (node.open) lines.show(next.calls);
      if (wasRunning && !isRunning) host.announce(`Ended: ${spoken(next)}`);
      wasRunning = isRunning;
    },
    drop: () => lines.drop(),
  };
}

function header() {
  const label = h("span", { class: "batch-label" });
  const name = h("span", { class: "batch-name" });
  const running = h(
    "span",
    { class: "batch-running when-closed" },
    h("span", { class: "sr" }, "running "),
    h("span", { "aria-hidden": "true" }, "⏳ "),
    name,
  );
  const node = h(
    "summary",
    {},
    h("span", { class: "batch-icon", "aria-hidden": "true" }, "🔧"),
    label,
    toggleWords(),
    running,
  );
  /** @param {Batch} batch */
  const update = (batch) => {
    relabel(label, batch);
    setText(name, visibleLine(batch.running));
    set(running, "hidden", batch.running === "");
  };
  return { node, update };
}

/** Both words hold one place, so that the header never changes its width. */
export function toggleWords() {
  return h(
    "span",
    { class: "batch-toggle" },
    h("span", { class: "when-closed" }, "(show details)"),
    h("span", { class: "when-open" }, "(hide details)"),
  );
}

/**
 * @param {HTMLElement} label
 * @param {Batch} batch
 */
function relabel(label, { calls }) {
  const parsed = parsedText(calls);
  const said = parsed || visibleLine(batchLabel(calls));
  const failed = parsed ? "" : failedLabel(calls);
  const unrun = notRunLabel(calls);
  const names = calls.length === 1 && !parsed ? [] : namesOf(calls);
  const took = tookText(calls);
  const key = [...names.map(({ name, count }) => `${name}${count}`), said, took, failed, unrun].join("\n");
  if (labels.get(label) === key) return;
  labels.set(label, key);
  label.replaceChildren(...(names.length === 0 ? [h("code", {}, said)] : [...named(names), said]));
  if (took) label.append(h("span", { class: "batch-quiet" }, ` · ${took}`));
  if (failed) label.append(", ", h("span", { class: "batch-failed" }, failed));
  if (unrun) label.append(", ", h("span", { class: "batch-quiet" }, unrun));
}

/** @type {WeakMap<HTMLElement, string>} What each label says, so that it is not made anew. */
const labels = new WeakMap();
const NAMES = 3;

/**
 * The names of the tools, in the order of their first use, with how often.
 * @param {readonly import("../types.js").Call[]} calls
 */
function namesOf(calls) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const call of calls) {
    const name = visibleLine(call.shown === undefined ? call.name : batchLabel([call]));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => ({ name, count }));
}

/** @param {{name: string, count: number}[]} names */
function named(names) {
  const shown = names.slice(0, names.length === NAMES + 1 ? NAMES + 1 : NAMES);
  const left = names.length - shown.length;
  const nodes = shown.flatMap(({ name, count }, at) => [at ? ", " : "", h("code", {}, name), count > 1 ? ` ×${count}` : ""]);
  return [h("span", { class: "batch-names" }, ...nodes, left > 0 && `, ${left} others`), h("span", { class: "batch-dot" }, " · ")];
}

/**
 * How long all of them took, once none runs; they run beside each other, so the longest counts.
 * @param {readonly import("../types.js").Call[]} calls
 */
function tookText(calls) {
  if (calls.some((call) => ["writing", "running", "waiting"].includes(call.state))) return "";
  let longest = -1;
  for (const call of calls) if (!verdictFor(call)) longest = Math.max(longest, call.seconds ?? -1);
  return longest < 0 ? "" : exactDuration(longest);
}

/**
 * How far calls were read that never run: `2 ready, 1 not whole`; nothing for those that may run.
 * @param {readonly import("../types.js").Call[]} calls
 */
function parsedText(calls) {
  const words = /** @type {const} */ (["ready", "arriving", "not whole"]);
  const counts = words.map((word) => /** @type {const} */ ([calls.filter((one) => one.parsed?.word === word).length, word]));
  return counts.flatMap(([count, word]) => (count ? [`${count} ${word}`] : [])).join(", ");
}

/** @param {Batch} batch */
function spoken({ calls }) {
  return [visibleLine(batchLabel(calls)), failedLabel(calls), notRunLabel(calls)].filter(Boolean).join(", ");
}
