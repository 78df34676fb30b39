/**
 * A question to the person: a card with all that there is to know, and the answers. Once it is
 * answered, it is one line that opens.
 *
 *     Approve edit_file?   rule 2 of the policy asks: it changes a file      waiting 0:42
 *     edit_file · approved (show details)
 *
 * A card never takes the focus when it appears. It gives the focus to the line that follows it.
 *
 * @module
 */

import { h, set, setText } from "../dom.js";
import { visible, visibleLine } from "../safe.js";
import { compactText } from "../shown.js";
import { answersOf } from "./answers.js";
import { argsOf } from "./args.js";
import { toggleWords } from "./batch.js";
import { count, minutes, secondsSince, stopCounting } from "./clock.js";
import { diffsOf } from "./diff.js";
import { remember } from "./host.js";

/** @typedef {import("../types.js").Approval} Approval */
/** @typedef {import("../types.js").ApprovalSection} ApprovalSection */
/** @typedef {import("./host.js").Host} Host */

/**
 * @param {ApprovalSection} first
 * @param {Host} host
 * @returns {import("../dom.js").View<ApprovalSection>}
 */
export function approvalView(first, host) {
  const node = h("div", { class: "approval-place" });
  let said = "";
  /** @type {{update: () => void, drop: () => void} | undefined} */
  let card;
  /** @param {ApprovalSection} section */
  const update = ({ key, approval }) => {
    const { askedAt, ...asked } = approval;
    const now = compactText(asked);
    if (now !== said) {
      const hadFocus = Boolean(said) && node.matches(":focus-within");
      card?.drop();
      card = undefined;
      if (isOpen(approval)) card = waiting(node, approval, host);
      else node.replaceChildren(answered(key, approval, host));
      if (hadFocus) node.querySelector("summary")?.focus({ preventScroll: true });
      if (!said && isOpen(approval)) host.announce(`Approve ${visibleLine(approval.tool)}?`);
      said = now;
    }
    card?.update();
  };
  return { node, update, drop: () => card?.drop() };
}

/** @param {Approval} approval */
const isOpen = (approval) => approval.approved === undefined && !approval.over;

/**
 * @param {HTMLElement} node
 * @param {Approval} approval
 * @param {Host} host
 */
function waiting(node, approval, host) {
  const title = `Approve ${visibleLine(approval.tool)}`;
  const time = h("span", { class: "approval-wait" });
  const since = approval.askedAt;
  if (since !== undefined) count(time, () => `waiting ${minutes(secondsSince(since))}`);
  else setText(time, "waiting");
  const answers = answersOf(approval, host);
  node.replaceChildren(
    h("section", { class: "approval", "aria-label": title }, head(approval, time), ...asked(approval), answers.node),
  );
  return { update: answers.update, drop: () => stopCounting(time) };
}

/**
 * @param {Approval} approval
 * @param {HTMLElement} time
 */
function head(approval, time) {
  const name = h("code", {}, visibleLine(approval.tool));
  const why = visible(approval.reason);
  return h(
    "div",
    { class: "approval-head" },
    h("h2", {}, "Approve ", name, "?"),
    why && h("span", { class: "approval-why" }, why),
    time,
  );
}

/** @param {Approval} approval */
function asked(approval) {
  const found = [argsOf(approval.input), taintOf(approval.tainted ?? [])];
  return [...found.filter((one) => one !== null), ...diffsOf(approval.preview ?? "")];
}

/**
 * Where the input comes from, if not from the person.
 * @param {readonly string[]} sources
 */
function taintOf(sources) {
  if (sources.length === 0) return null;
  const list = h("p", { class: "approval-taint" }, "Its input may come from ");
  sources.forEach((source, i) => {
    if (i > 0) list.append(i === sources.length - 1 ? " and " : ", ");
    list.append(h("code", {}, visibleLine(source)));
  });
  list.append(", which nobody checked.");
  return list;
}

/**
 * @param {string} key
 * @param {Approval} approval
 * @param {Host} host
 */
function answered(key, approval, host) {
  const line = h("span", { class: "batch-label" }, h("code", {}, visibleLine(approval.tool)));
  const summary = h("summary", {}, line, verdictOf(approval), toggleWords());
  const inside = h("div", { class: "answered-asked" }, ...asked(approval));
  const why = visible(approval.reason);
  if (why) inside.prepend(h("p", { class: "approval-why" }, why));
  const fold = h("details", { class: "answered" }, summary, inside);
  set(fold, "data-state", approval.approved ? "approved" : "denied");
  remember(fold, key, host);
  return fold;
}

/** @param {Approval} approval */
function verdictOf(approval) {
  const answer = visibleLine(approval.answer ?? "");
  const word = approval.approved ? "approved" : approval.approved === false ? "denied" : "not answered";
  return h("span", { class: "answered-word" }, answer ? `${word}: ${answer}` : word);
}
