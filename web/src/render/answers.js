/**
 * The answers to a question: approve, allow for ten minutes, deny with a reason.
 *
 *     callblocks-answer   {approval, verdict: "once" | "while" | "deny", minutes?, reason?}
 *
 * No answer is the one that Enter gives. Where a card comes or changes its place, its answers do
 * nothing for a moment: a press was meant for what stood there before. After a press the buttons wait for the question to be
 * answered, or for the page to say that it could not be (`refuse` of the element).
 *
 * @module
 */

import { h, set, setText } from "../dom.js";
import { visibleLine } from "../safe.js";

/** @typedef {import("../types.js").Approval} Approval */
/** @typedef {{verdict: "once" | "while" | "deny", minutes?: number, reason?: string}} Answer */

const MINUTES = 10;
const NEW_FOR = 500;
const HIDDEN = "A part of this call is covered as a secret and could do something.";
let fields = 0;

/**
 * @param {Approval} approval
 * @param {import("./host.js").Host} host
 * @param {import("./rows.js").Unseen} unseen what was not shown yet: there is no yes to it
 */
export function answersOf(approval, host, unseen) {
  const reason = h("input", {
    class: "field",
    id: `reason-${(fields += 1)}`,
    placeholder: "Reason, told to the model",
    autocomplete: "off",
    maxlength: "2000",
  });
  const fault = h("p", { class: "approval-fault", role: "alert" });
  const noted = h("p", { class: "ask-note", id: `note-${fields}` });
  let isSent = false;
  let isNew = true;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const moved = () => {
    isNew = true;
    clearTimeout(timer);
    timer = setTimeout(() => {
      isNew = false;
      update();
    }, NEW_FOR);
    update();
  };
  /** @type {string | null} */
  let said = null;
  /** @param {() => Answer} answer */
  const send = (answer) => (/** @type {MouseEvent} */ event) => {
    // The second press of a double one was meant for a card that stood here before.
    const verdict = answer();
    const isYes = verdict.verdict !== "deny";
    if (isSent || isNew || event.detail > 1 || (isYes && whyNot(approval, unseen))) return;
    isSent = true;
    host.retry(approval.id);
    update();
    host.emit("callblocks-answer", { approval, ...verdict });
  };
  const approve = button("Approve", "primary", send(() => ({ verdict: "once" })));
  const allow = button(
    h("span", {}, h("span", { class: "wide" }, `Allow for ${MINUTES} minutes`), h("span", { class: "narrow" }, `Allow ${MINUTES} min`)),
    null,
    send(() => ({ verdict: "while", minutes: MINUTES })),
  );
  const refuse = send(() => denial(reason.value.trim()));
  const deny = button("Deny", "danger", (event) => {
    // On a narrow screen the reason comes up first, in the same row.
    if (reason.offsetParent !== null) return refuse(event);
    node.dataset.denying = "";
    reason.focus();
  });
  const back = button("‹", "quiet", () => goBack());
  back.classList.add("icon", "back");
  back.setAttribute("aria-label", "Back to the answers");
  const goBack = () => {
    delete node.dataset.denying;
    deny.focus();
  };
  const label = h("label", { class: "sr", for: reason.id }, "Reason for denying, told to the model");
  const update = () => {
    const why = host.failure(approval.id);
    if (why) isSent = false;
    setText(fault, visibleLine(why));
    const missing = whyNot(approval, unseen);
    for (const one of [approve, allow]) {
      set(one, "aria-disabled", isSent || isNew || missing ? "true" : null);
      set(one, "aria-describedby", missing ? noted.id : null);
    }
    set(deny, "aria-disabled", isSent || isNew ? "true" : null);
    if (said === missing) return;
    said = missing;
    noted.replaceChildren(...noteOf(approval, missing));
  };
  const node = h(
    "form",
    {
      class: "ask-foot",
      "aria-label": "Answer",
      onsubmit: (/** @type {Event} */ event) => event.preventDefault(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Escape" || !("denying" in node.dataset)) return;
        event.stopPropagation();
        goBack();
      },
    },
    approve,
    allow,
    back,
    h("div", { class: "deny" }, label, reason, deny),
    noted,
    fault,
  );
  moved();
  return { node, update, moved, drop: () => clearTimeout(timer), get isNew() { return isNew; } };
}

/**
 * @param {string} reason
 * @returns {Answer}
 */
const denial = (reason) => (reason ? { verdict: "deny", reason } : { verdict: "deny" });

/**
 * @param {string | HTMLElement} words
 * @param {string | null} kind
 * @param {(event: MouseEvent) => void} press
 */
function button(words, kind, press) {
  return h("button", { type: "button", class: "btn", "data-kind": kind, onclick: press }, words);
}

/**
 * Why there is no yes yet, or never one here.
 * @param {Approval} approval
 * @param {import("./rows.js").Unseen} unseen
 */
function whyNot(approval, unseen) {
  return approval.hidden ? HIDDEN : unseen.words;
}

/**
 * @param {Approval} approval
 * @param {string} missing
 */
function noteOf(approval, missing) {
  if (approval.hidden) return [h("b", {}, HIDDEN), " Deny it, or approve it at the terminal: ", h("code", {}, "callblocks run --ask"), "."];
  if (missing) return [h("b", {}, missing), " Show them, then you can approve."];
  const name = h("code", {}, visibleLine(approval.tool));
  return ["Ten minutes: any ", name, " that comes after this one, in this workspace, whatever its input."];
}
