/**
 * A batch of calls: one fold, its header and the lines in it.
 *
 *     🔧 7 tool calls, 1 failed, 3 not run (show details)             ⏳ run_shell_command
 *
 * The lines are made when the fold opens.
 *
 * @module
 */

import { batchLabel, failedLabel, notRunLabel } from "../display.js";
import { h, set, setText } from "../dom.js";
import { visibleLine } from "../safe.js";
import { CallList } from "./call-list.js";
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
  const said = visibleLine(batchLabel(calls));
  const failed = failedLabel(calls);
  const unrun = notRunLabel(calls);
  if (label.textContent === [said, failed, unrun].filter(Boolean).join(", ")) return;
  label.replaceChildren(calls.length === 1 ? h("code", {}, said) : said);
  if (failed) label.append(", ", h("span", { class: "batch-failed" }, failed));
  if (unrun) label.append(", ", h("span", { class: "batch-quiet" }, unrun));
}

/** @param {Batch} batch */
function spoken({ calls }) {
  return [visibleLine(batchLabel(calls)), failedLabel(calls), notRunLabel(calls)].filter(Boolean).join(", ");
}
