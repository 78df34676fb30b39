/**
 * A question to the person: a card that keeps its question and its answers in view. Once it is
 * answered, it is one line that opens.
 *
 *     › Approve edit_file?                                        1 of 2 · waiting 0:42
 *       tools/release.py +10 −4, 405 lines stay   rule 2 asks: it changes a file
 *     edit_file · approved by you (show details)
 *
 * A card never takes the focus when it appears. It gives the focus to the line that follows it.
 *
 * @module
 */

import { h, set, setText } from "../dom.js";
import { visible, visibleLine } from "../safe.js";
import { compactText } from "../shown.js";
import { unansweredWords } from "../verdicts.js";
import { answersOf } from "./answers.js";
import { askedOf } from "./asked.js";
import { toggleWords } from "./batch.js";
import { count, minutes, secondsSince, stopCounting } from "./clock.js";
import { grantWords } from "./grant.js";
import { remember } from "./host.js";
import { Unseen } from "./rows.js";

/** @typedef {import("../types.js").Approval} Approval */
/** @typedef {import("../types.js").ApprovalSection} ApprovalSection */
/** @typedef {import("./host.js").Host} Host */
/** @typedef {{update: (at: number, waiting: readonly Approval[]) => void, drop: () => void}} Card */

/**
 * @param {ApprovalSection} first
 * @param {Host} host
 * @returns {import("../dom.js").View<ApprovalSection>}
 */
export function approvalView(first, host) {
  const node = h("div", { class: "approval-place" });
  let said = "";
  /** @type {Card | undefined} */
  let card;
  /** @param {ApprovalSection} section */
  const update = ({ key, approval, at = 1, waiting: all = [approval] }) => {
    const { askedAt, ...asked } = approval;
    const now = compactText({ ...asked, revoked: host.revoked(approval.id) });
    if (now !== said) {
      const hadFocus = Boolean(said) && node.matches(":focus-within");
      card?.drop();
      card = undefined;
      if (isOpen(approval)) card = waiting(node, approval, at === 1, host);
      else node.replaceChildren(answered(key, approval, host));
      if (hadFocus) node.querySelector("summary")?.focus({ preventScroll: true });
      if (!said && isOpen(approval)) host.announce(`Approve ${visibleLine(approval.tool)}?`);
      said = now;
    }
    card?.update(at, all);
  };
  return { node, update, drop: () => card?.drop() };
}

/** @param {Approval} approval */
export const isOpen = (approval) => approval.approved === undefined && !approval.over;

/**
 * @param {HTMLElement} node
 * @param {Approval} approval
 * @param {boolean} isFirst
 * @param {Host} host
 * @returns {Card}
 */
function waiting(node, approval, isFirst, host) {
  const unseen = new Unseen();
  const asked = askedOf(approval, unseen);
  const place = h("span", { class: "ask-at" });
  const time = h("b", {});
  const since = approval.askedAt;
  if (since !== undefined) count(time, () => `waiting ${minutes(secondsSince(since))}`);
  else setText(time, "waiting");
  const name = h("code", {}, visibleLine(approval.tool));
  const why = visible(approval.reason);
  const summary = h(
    "summary",
    {},
    h("h2", {}, "Approve ", name, "?"),
    h("span", { class: "ask-when", "aria-hidden": "true" }, place, h("span", { class: "ask-wait" }, time)),
    h("span", { class: "ask-what" }, ...taintTag(approval), asked.deciding, why && h("span", { class: "ask-why" }, why)),
  );
  const answers = answersOf(approval, host, unseen);
  unseen.changed = answers.update;
  const fold = h("details", { class: "ask", name: "ask" }, summary, ...taintOf(approval.tainted ?? []), ...asked.parts, answers.node);
  fold.open = isFirst;
  const words = h("b", {});
  /** @type {readonly Approval[]} */
  let all = [];
  const denyAll = h("button", { type: "button", class: "btn", "data-kind": "quiet" }, "Deny all");
  denyAll.addEventListener("click", (event) => {
    if (event.detail > 1 || answers.isNew) return;
    for (const one of all) host.emit("callblocks-answer", { approval: one, verdict: "deny" });
  });
  const head = h("p", { class: "queue-head", hidden: "" }, words, h("span", {}, "Answer in any order."), denyAll);
  const section = h("section", { class: "approval", "aria-label": `Approve ${visibleLine(approval.tool)}` }, head, fold);
  node.replaceChildren(section);
  fold.addEventListener("toggle", () => fold.open && answers.moved());
  let wasFirst = isFirst;
  let was = "";
  return {
    update(at, waiting) {
      all = waiting;
      const of = waiting.length;
      head.hidden = at !== 1 || of < 2;
      setText(words, `${of} calls wait for you`);
      const now = of > 1 ? `${at} of ${of} · ` : "";
      setText(place, now);
      if (now !== was) answers.moved();
      was = now;
      // The one that was open is answered: the next one opens.
      if (at === 1 && !wasFirst) fold.open = true;
      wasFirst = at === 1;
      answers.update();
    },
    drop() {
      stopCounting(time);
      answers.drop();
    },
  };
}

/** @param {Approval} approval */
function taintTag(approval) {
  return approval.tainted?.length ? [h("b", { class: "tag", "data-kind": "wait" }, "text of others")] : [];
}

/**
 * Where the input comes from, if not from the person.
 * @param {readonly string[]} sources
 */
function taintOf(sources) {
  if (sources.length === 0) return [];
  const list = h("p", { class: "ask-taint" }, "Its input may come from ");
  sources.forEach((source, i) => {
    if (i > 0) list.append(i === sources.length - 1 ? " and " : ", ");
    list.append(h("code", {}, visibleLine(source)));
  });
  list.append(", which nobody checked.");
  return [list];
}

/**
 * @param {string} key
 * @param {Approval} approval
 * @param {Host} host
 */
function answered(key, approval, host) {
  const line = h("span", { class: "batch-label" }, h("code", {}, visibleLine(approval.tool)));
  const summary = h("summary", {}, line, verdictOf(approval), toggleWords());
  const inside = h("div", { class: "answered-asked" });
  const fold = h("details", { class: "answered" }, summary, inside);
  const draw = () => {
    if (inside.childElementCount) return;
    const why = visible(approval.reason);
    if (why) inside.append(h("p", { class: "ask-why" }, why));
    inside.append(...askedOf(approval, new Unseen()).parts);
  };
  set(fold, "data-state", approval.approved ? "approved" : "denied");
  remember(fold, key, host, (isShown) => isShown && draw());
  if (fold.open) draw();
  if (!approval.approved || !approval.minutes) return fold;
  const grant = { id: approval.id, minutes: approval.minutes, expiresAt: approval.expiresAt ?? 0 };
  return h("div", {}, fold, grantWords(grant, host));
}

const STOPPED = new Map([["the turn was stopped", "cancelled by you"]]);

/** @param {Approval} approval */
function verdictOf(approval) {
  const answer = visibleLine(approval.answer ?? "");
  const unanswered = approval.approved === false && (unansweredWords(answer) || STOPPED.get(answer));
  if (unanswered) return h("span", { class: "answered-word" }, unanswered);
  const word = approval.approved
    ? "approved by you"
    : approval.approved === false
      ? "denied by you"
      : "not answered";
  return h("span", { class: "answered-word" }, answer ? `${word}: ${answer}` : word);
}
