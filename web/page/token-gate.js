/**
 * The one field of a server that wants a token. The token is exchanged for a cookie, as one in the
 * address is; no script keeps it.
 */

import { h, setText } from "../src/dom.js";
import { t } from "../src/words.js";

/**
 * Ask until the server takes it; false where the person leaves.
 * @returns {Promise<boolean>}
 */
export function tokenGate() {
  const { promise, resolve } = Promise.withResolvers();
  const field = h("input", { class: "field", type: "password", id: "token", autocomplete: "current-password", required: true });
  const fault = h("p", { class: "hint", "data-kind": "fail", role: "alert" });
  const form = h(
    "form",
    { class: "gate", method: "dialog" },
    h("h2", { id: "gate-title" }, t("This server wants a token")),
    h("p", {}, t("It was printed where the server was started.")),
    h("label", { for: "token" }, t("Token")),
    field,
    fault,
    h("div", { class: "dialog-foot" }, h("button", { type: "submit", class: "btn", "data-kind": "primary" }, t("Enter"))),
  );
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "gate-title" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setText(fault, "");
    const headers = { authorization: `Bearer ${field.value.trim()}` };
    const response = await fetch("/api/sign-in", { method: "POST", headers }).catch(() => null);
    if (!response?.ok) {
      setText(fault, t(response ? "Not accepted" : "The server cannot be reached."));
      field.select();
      return;
    }
    resolve(true);
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(false);
  });
  document.body.append(dialog);
  dialog.showModal();
  return promise;
}
