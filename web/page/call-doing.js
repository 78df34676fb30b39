/**
 * What the page does with one call: cancels it, makes it again, copies it in another dialect, and
 * finds it on the timeline.
 */

import { h } from "../src/dom.js";
import { visible, visibleLine } from "../src/safe.js";
import { t } from "../src/words.js";
import { getJson, postJson } from "./api.js";
import { copyBy } from "./copying.js";
import { dialogHead, openDialog } from "./dialog.js";

/** @typedef {import("../src/types.js").Call} Call */

/** What `<call-blocks>` offers beside copying. */
export const CALL_ACTIONS = ["copy", "copy-as", "cancel", "again", "timeline"];

/**
 * @param {string} chat
 * @param {Call} call
 */
export function cancelCall(chat, call) {
  return postJson(`/api/chat/${encodeURIComponent(chat)}/calls/${encodeURIComponent(call.id)}/cancel`, {});
}

/**
 * A dialog with the call in a dialect that the person chooses.
 * @param {Call} call
 */
export async function copyAs(call) {
  const { dialects } = await getJson("/api/dialects");
  const names = dialects.map((/** @type {{name: string}} */ one) => one.name).filter((/** @type {string} */ one) => one !== "auto");
  const select = h("select", {}, ...names.map((/** @type {string} */ name) => h("option", { value: name }, name)));
  const shown = h("pre", { class: "call-as", tabindex: "0", "aria-label": t("The call") });
  const copy = h("button", { type: "button", class: "btn", "data-kind": "primary" }, t("Copy"));
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "copy-as" });
  dialog.append(
    dialogHead(dialog, "copy-as", t("{name} as", { name: visibleLine(call.name) })),
    h("div", { class: "call-as-body" }, h("label", { class: "pick" }, h("span", {}, t("Dialect")), select), shown, copy),
  );
  let text = "";
  const show = async () => {
    const source = `<tool_call>\n${JSON.stringify({ name: call.name, arguments: call.input ?? {} })}\n</tool_call>`;
    try {
      const said = await postJson("/api/convert", { text: source, dialect: "hermes", into: select.value });
      text = String(said.text ?? "").trim();
      shown.textContent = visible(text);
    } catch (error) {
      text = "";
      shown.textContent = visible(error instanceof Error ? error.message : String(error));
    }
  };
  select.addEventListener("change", show);
  copy.addEventListener("click", () => void copyBy(copy, text, dialog));
  openDialog(dialog);
  await show();
}
