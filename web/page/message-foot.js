/**
 * What stands under a message: at the left what can be done, at the right what it was.
 *
 *     ‹ 2/3 ›  Copy  Regenerate          qwen3-coder · hermes · 2,184 in, 318 out · 8.4 s · 14:22
 *
 * Editing happens in place, and says what becomes of the old words: nothing is ever replaced. What
 * is not known is left out.
 */

import { h, set, setText } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { copied } from "./copying.js";
import { t } from "../src/words.js";
import { clock } from "./when.js";

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {{at: number, turns: string[]}} Versions */
/**
 * @typedef {object} Does
 * @property {(turn: string, text: string) => void} edit
 * @property {(turn: string) => void} again
 * @property {(turn: string) => void} show another version, by a turn
 * @property {(text: string) => void} keep what somebody was writing when its message went
 * @property {(words: string) => void} tell a screen reader
 */

/** The turn of a message; "" while it has none. @param {Message} message */
export function turnOf(message) {
  return /^(said|reply)-/.test(message.id) ? "" : message.id.replace(/\.user$/, "");
}

/** The prose of a message, as it was written. @param {Message} message */
export function textOfMessage(message) {
  const texts = message.parts.filter((part) => part.type === "text" && typeof part.text === "string");
  return texts.map((part) => String(part.text).trim()).filter(Boolean).join("\n\n");
}

/**
 * @param {HTMLElement} article is marked while it is edited
 * @param {Does} does
 */
export function messageFoot(article, does) {
  /** @type {Message} */
  let message = { id: "", role: "user", parts: [] };
  let isLive = false;
  const versions = versionsView(does);
  const copy = action(t("Copy"), async () => {
    does.tell(t((await copied(textOfMessage(message))) ? "Copied" : "Not copied"));
  });
  const edit = action(t("Edit"), () => open());
  const again = action(t("Regenerate"), () => does.again(turnOf(message)));
  const acts = h("div", { class: "acts", role: "group", "aria-label": t("Message actions") }, versions.node, copy, edit, again);
  const facts = h("p", { class: "meta-facts" });
  const node = h("footer", { class: "meta" }, acts, facts);

  /** What is being written in place of the message; nothing while it is as it was. */
  let written = () => "";
  const open = () => {
    const form = editForm(message, {
      send: (text) => {
        close();
        does.edit(turnOf(message), text);
      },
      leave: () => {
        close();
        edit.focus();
      },
    });
    const close = () => {
      form.node.remove();
      written = () => "";
      delete article.dataset.editing;
    };
    const before = textOfMessage(message);
    written = () => (form.text() === before ? "" : form.text().trim());
    article.dataset.editing = "";
    article.append(form.node);
    form.focus();
  };

  return {
    node,
    /** Another tab showed another version: what was being written here is not lost with the message. */
    drop() {
      if (written()) does.keep(written());
    },
    /**
     * @param {Message} next
     * @param {boolean} live
     */
    update(next, live) {
      message = next;
      isLive = live;
      const isUser = message.role === "user";
      const hasTurn = turnOf(message) !== "";
      // Its place is kept from the beginning: nothing moves when the turn ends.
      set(node, "data-waiting", isLive || (isUser && !hasTurn));
      edit.hidden = !isUser;
      again.hidden = isUser || !hasTurn;
      setText(again, t(isFailed(message) ? "Retry" : "Regenerate"));
      copy.hidden = !textOfMessage(message);
      versions.update(message);
      const said = isUser ? [] : factsOf(message);
      if (facts.textContent !== said.join("")) facts.replaceChildren(...said.map((one) => h("span", {}, one)));
    },
  };
}

/** @param {Message} message */
const isFailed = (message) => ["failed", "limited", "interrupted"].includes(String(message.metadata?.status));

/**
 * @param {string} words
 * @param {() => void} press
 */
function action(words, press) {
  return h("button", { type: "button", class: "btn small", "data-kind": "quiet", onclick: press }, words);
}

/** @param {Does} does */
function versionsView(does) {
  /** @type {Versions | undefined} */
  let known;
  const go = (/** @type {number} */ by) => () => {
    const turn = known?.turns[known.at - 1 + by];
    if (turn) does.show(turn);
  };
  const before = h("button", { type: "button", class: "btn small icon", "data-kind": "quiet", "aria-label": t("Version before"), onclick: go(-1) }, "‹");
  const after = h("button", { type: "button", class: "btn small icon", "data-kind": "quiet", "aria-label": t("Next version"), onclick: go(1) }, "›");
  const place = h("span", {});
  const node = h("span", { class: "branch", role: "group" }, before, place, after);
  return {
    node,
    /** @param {Message} message */
    update(message) {
      known = message.metadata?.versions;
      node.hidden = !known;
      if (!known) return;
      set(node, "aria-label", t(message.role === "user" ? "Versions of your message" : "Versions of this answer"));
      setText(place, `${known.at}/${known.turns.length}`);
      before.disabled = known.at <= 1;
      after.disabled = known.at >= known.turns.length;
    },
  };
}

let forms = 0;

/**
 * @param {Message} message
 * @param {{send: (text: string) => void, leave: () => void}} does
 */
function editForm(message, { send, leave }) {
  const count = message.metadata?.versions?.turns.length ?? 1;
  const id = `edit-${(forms += 1)}`;
  const box = h("textarea", { id, rows: "2", dir: "auto" });
  box.value = textOfMessage(message);
  const press = () => box.value.trim() && send(box.value);
  const stays = count === 1 ? t("Sent as version 2. The first stays, with its answer.") : t("Sent as version {n}. Those before stay, with their answers.", { n: count + 1 });
  const node = h(
    "form",
    {
      class: "edit",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        press();
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          leave();
        } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229 && event.target === box) {
          event.preventDefault();
          press();
        }
      },
    },
    h("label", { class: "sr", for: id }, t("Your message")),
    box,
    h(
      "div",
      { class: "edit-row" },
      h("p", {}, stays),
      h("button", { type: "button", class: "btn", onclick: leave }, t("Cancel")),
      h("button", { type: "submit", class: "btn", "data-kind": "primary" }, t("Send")),
    ),
  );
  return { node, focus: () => box.focus(), text: () => box.value };
}

/**
 * @param {Message} message
 * @returns {string[]}
 */
function factsOf(message) {
  const { model, dialect, tokens, seconds, at } = message.metadata ?? {};
  const facts = [model, dialect].filter((one) => typeof one === "string" && one).map((one) => visibleLine(one));
  if (tokens) facts.push(t("{in} in, {out} out", { in: number(tokens.in), out: number(tokens.out) }));
  if (seconds > 0) facts.push(seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`);
  if (typeof at === "string") facts.push(clock(new Date(at)));
  return facts.filter(Boolean);
}

/** @param {unknown} value */
const number = (value) => Number(value).toLocaleString("en");
