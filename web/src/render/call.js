/**
 * A call on its line, and what came of it.
 *
 *     run_shell_command(args=["pwd"]) → /app
 *     read_file(file_name=pyproject.toml)
 *       [project]
 *       ... (12 more lines)
 *     run_shell_command(args=["make"]) ⏳ 14 s
 *
 * A call that did not change is not drawn again.
 *
 * @module
 */

import { lineOf, resultLayout, verdictFor } from "../display.js";
import { h, set } from "../dom.js";
import { objectOf } from "../notes.js";
import { redactStart } from "../redact.js";
import { exactText, visible, visibleLine } from "../safe.js";
import { count, duration, secondsSince, stopCounting } from "./clock.js";
import { grantWords } from "./grant.js";
import { actionsOf } from "./call-actions.js";
import { moreOf } from "./more.js";
import { resultOf } from "./result.js";

/** @typedef {import("../types.js").Call} Call */
/** @typedef {import("../types.js").Layout} Layout */
/** @typedef {import("./host.js").Host} Host */
/** @typedef {(keyof Call)[]} Fields */

/** @type {Fields} */
const DRAWN = [
  "name", "input", "state", "output", "error", "shown", "startedAt", "progress", "more", "notices",
  "code", "grant", "seconds", "parsed",
];
const PROGRESS_LINES = 3;
const COMMAND_LINES = 12;
const COMMAND_LENGTH = 4000;

/**
 * @param {Host} host
 * @returns {import("../dom.js").View<Call>}
 */
export function callView(host) {
  const node = h("li", { class: "call" });
  /** @type {Call | undefined} */
  let shown;
  let isRevoked = false;
  const time = h("span", { class: "call-time" });
  return {
    node,
    update(call) {
      const wasRevoked = isRevoked;
      isRevoked = call.grant !== undefined && host.revoked(call.grant.id);
      if (shown && wasRevoked === isRevoked && DRAWN.every((field) => isSame(shown?.[field], call[field]))) return;
      shown = { ...call };
      stopCounting(time);
      set(node, "data-state", stateOf(call));
      node.replaceChildren(...draw(call, host, time));
    },
    drop: () => stopCounting(time),
  };
}

/**
 * @param {unknown} one
 * @param {unknown} other
 */
function isSame(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** @param {Call} call */
function stateOf(call) {
  if (verdictFor(call)) return "not-run";
  if (call.state === "failed") return "failed";
  if (call.state === "done") return "done";
  return call.state === "waiting" ? "waiting" : "pending";
}

/**
 * @param {Call} call
 * @param {Host} host
 * @param {HTMLElement} time
 */
function draw(call, host, time) {
  const layout = resultLayout(call);
  const line = h("p", { class: "call-line" }, ...named(call));
  line.append(...behind(call, layout, time));
  const notices = (call.notices ?? []).map((one) => h("p", { class: "notice" }, visibleLine(one)));
  const grant = call.grant ? [grantWords(call.grant, host)] : [];
  const head = h("div", { class: "call-head" }, line, ...actionsOf(call, stateOf(call), host));
  return [head, ...commandOf(call), ...grant, ...notices, ...programOf(call), ...below(call, layout, host)];
}

/** @param {Call} call */
function named(call) {
  const { name, args } = lineOf(call);
  const first = h("span", { class: "call-name" }, visibleLine(name));
  if (args === null) return [first];
  return [first, h("span", { class: "call-args" }, `(${visibleLine(args)})`)];
}

/**
 * What stands on the line, behind the call.
 * @param {Call} call
 * @param {Layout} layout
 * @param {HTMLElement} time
 * @returns {(Node | string)[]}
 */
function behind(call, layout, time) {
  const state = stateOf(call);
  if (call.parsed) return arrow(...parsed(call.parsed));
  if (state === "waiting") return [" ", h("span", { class: "call-time" }, "waiting for an answer")];
  if (state === "pending") return pending(call, time);
  if (state === "not-run") return arrow(...unrun(call, layout));
  if (state === "failed") return arrow(failure(layout));
  if (layout.kind === "empty") return arrow("✓", h("span", { class: "sr" }, " done, no output"));
  if (layout.kind === "inline") return arrow(visibleLine(layout.text));
  return [];
}

/**
 * @param {Call} call
 * @param {HTMLElement} time
 */
function pending(call, time) {
  const glass = h("span", { class: "hourglass", role: "img", "aria-label": "running" }, "⏳");
  const since = call.startedAt;
  if (call.state !== "running" || since === undefined) return ["\u00a0", glass];
  count(time, () => duration(secondsSince(since)));
  return ["\u00a0", glass, "\u00a0", time];
}

/**
 * The words for a call that is read and never runs.
 * @param {import("../types.js").Parsed} parsed
 */
function parsed({ word, why = "" }) {
  if (word === "not whole") return [`✗ not whole${why && `: ${visibleLine(why)}`}`];
  return [h("span", { class: "call-read" }, word === "ready" ? "ready, not run" : word)];
}

/** @param {Layout} layout */
function failure(layout) {
  const why = layout.kind === "below" ? "" : visibleLine(layout.text);
  if (!why || why === "failed") return "✗ failed";
  return why.startsWith("failed: ") ? `✗ ${why}` : `✗ failed: ${why}`;
}

/**
 * Why a call did not run; a long reason stands below.
 * @param {Call} call
 * @param {Layout} layout
 * @returns {(Node | string)[]}
 */
function unrun(call, layout) {
  const { lead, why } = verdictFor(call) ?? { lead: "not run", why: "" };
  const first = h("b", {}, visibleLine(lead));
  return why && layout.kind !== "below" ? [first, `: ${visibleLine(why)}`] : [first];
}

/** @param {...(Node | string)} said */
function arrow(...said) {
  const out = h("span", { class: "call-out" });
  out.append(...said);
  return [" ", h("span", { class: "call-arrow" }, "→"), " ", out];
}

/**
 * What stands below the line, indented.
 * @param {Call} call
 * @param {Layout} layout
 * @param {Host} host
 */
function below(call, layout, host) {
  if (stateOf(call) === "pending") return progress(call);
  if (layout.kind !== "below" || call.parsed) return [];
  const told = stateOf(call) === "done" && call.shown === undefined && resultOf(call);
  if (told) return [told];
  const result = h("pre", { class: "call-result", "data-cut": Boolean(layout.more) });
  const lead = verdictFor(call)?.lead;
  const text = layout.lines.join("\n");
  result.textContent = visible(lead && text.startsWith(`${lead}: `) ? text.slice(lead.length + 2) : text);
  return layout.more ? [result, moreOf(call, layout.more, result, host)] : [result];
}

/**
 * A command of several lines, with its lines as they are.
 * @param {Call} call
 */
function commandOf(call) {
  const { command } = objectOf(call.input);
  if (typeof command !== "string" || !command.includes("\n") || call.shown !== undefined) return [];
  const text = redactStart(command, COMMAND_LENGTH);
  const lines = text.replace(/\n$/, "").split("\n");
  const left = lines.length - COMMAND_LINES;
  const shown = lines.slice(0, COMMAND_LINES).map(exactText).join("\n");
  const isCut = left > 0 || text.length < command.length;
  const all = command.replace(/\n$/, "").split("\n").length;
  const more = isCut ? `\n... (${all - Math.min(lines.length, COMMAND_LINES)} more lines)` : "";
  return [h("pre", { class: "call-command" }, shown + more)];
}

/** @param {Call} call */
function programOf(call) {
  if (!call.code) return [];
  const text = h("pre", { class: "call-result" }, visible(call.code));
  return [h("details", { class: "reasoning call-code" }, h("summary", {}, "program"), text)];
}

/** @param {Call} call */
function progress(call) {
  const lines = (call.progress ?? "").trimEnd().split("\n").slice(-PROGRESS_LINES);
  if (!lines.join("")) return [];
  return [h("pre", { class: "call-result call-progress" }, visible(lines.join("\n")))];
}
