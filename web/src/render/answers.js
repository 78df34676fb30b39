/**
 * The answers to a question: approve, allow for ten minutes, deny with a reason.
 *
 *     callblocks-answer   {approval, verdict: "once" | "while" | "deny", minutes?, reason?}
 *
 * No answer is the one that Enter gives. After a press the buttons wait for the question to be
 * answered, or for the page to say that it could not be (`refuse` of the element).
 *
 * @module
 */

import { h, set, setText } from "../dom.js";
import { visibleLine } from "../safe.js";

/** @typedef {import("../types.js").Approval} Approval */
/** @typedef {{verdict: "once" | "while" | "deny", minutes?: number, reason?: string}} Answer */

const MINUTES = 10;
let fields = 0;

/**
 * @param {Approval} approval
 * @param {import("./host.js").Host} host
 */
export function answersOf(approval, host) {
  const reason = h("input", {
    class: "field",
    id: `reason-${(fields += 1)}`,
    placeholder: "Reason, told to the model",
    autocomplete: "off",
    maxlength: "2000",
  });
  const fault = h("p", { class: "approval-fault", role: "alert" });
  let isSent = false;
  /** @param {() => Answer} answer */
  const send = (answer) => (/** @type {MouseEvent} */ event) => {
    // The second press of a double one was meant for a card that stood here before.
    if (isSent || event.detail > 1) return;
    isSent = true;
    host.retry(approval.id);
    update();
    host.emit("callblocks-answer", { approval, ...answer() });
  };
  const approve = button("Approve", "primary", send(() => ({ verdict: "once" })));
  const allow = button(
    `Allow for ${MINUTES} minutes`,
    null,
    send(() => ({ verdict: "while", minutes: MINUTES })),
  );
  const deny = button("Deny", "danger", send(() => denial(reason.value.trim())));
  const label = h("label", { class: "sr", for: reason.id }, "Reason for denying, told to the model");
  const update = () => {
    const why = host.failure(approval.id);
    if (why) isSent = false;
    setText(fault, visibleLine(why));
    for (const one of [approve, allow, deny]) set(one, "aria-disabled", isSent ? "true" : null);
  };
  const node = h(
    "form",
    { class: "approval-foot", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    approve,
    allow,
    h("div", { class: "deny" }, label, reason, deny),
    note(approval),
    fault,
  );
  return { node, update };
}

/**
 * @param {string} reason
 * @returns {Answer}
 */
const denial = (reason) => (reason ? { verdict: "deny", reason } : { verdict: "deny" });

/**
 * @param {string} words
 * @param {string | null} kind
 * @param {(event: MouseEvent) => void} press
 */
function button(words, kind, press) {
  return h("button", { type: "button", class: "btn", "data-kind": kind, onclick: press }, words);
}

/** @param {Approval} approval */
function note(approval) {
  const name = h("code", {}, visibleLine(approval.tool));
  return h("p", { class: "approval-note" }, "Ten minutes covers ", name, " in every chat of this workspace.");
}
