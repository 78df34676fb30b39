/**
 * What can be done with a chat in the list: rename it in place, or delete it.
 *
 * Enter keeps a name, Escape leaves it. Delete asks, and says what the log keeps.
 */

import { h, set } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { t } from "../src/words.js";
import { ApiError, postJson } from "./api.js";
import { openDialog } from "./dialog.js";
import { icon } from "./icons.js";

/** @typedef {import("./chat-list.js").ChatSummary} ChatSummary */

let menus = 0;

export class ChatMenu {
  /** @param {{changed: () => unknown, isCurrent: (id: string) => boolean}} does */
  constructor(does) {
    this._does = does;
  }

  /**
   * The button at the end of a row, and its menu.
   * @param {HTMLElement} item
   * @param {HTMLElement} link
   */
  button(item, link) {
    const id = `chat-menu-${(menus += 1)}`;
    /** @type {ChatSummary | undefined} */
    let chat;
    const node = h("button", { type: "button", class: "btn icon", "data-kind": "quiet", "aria-haspopup": "menu", "aria-expanded": "false" }, icon("more"));
    // The menu is made when it is asked for: there are as many rows as chats.
    node.addEventListener("click", () => {
      if (!chat) return;
      const own = chat;
      const does = (/** @type {() => void} */ work) => () => {
        menu.hidePopover();
        work();
      };
      const menu = h(
        "div",
        { class: "menu-pop", id, popover: "auto" },
        h("button", { type: "button", onclick: does(() => this._rename(item, link, own)) }, t("Rename")),
        h("button", { type: "button", "data-kind": "danger", onclick: does(() => this._delete(own, node)) }, t("Delete…")),
      );
      menu.addEventListener("toggle", (event) => {
        if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
        set(node, "aria-expanded", "false");
        menu.remove();
      });
      item.append(menu);
      place(menu, node);
      menu.showPopover();
      set(node, "aria-expanded", "true");
      menu.querySelector("button")?.focus();
    });
    return {
      node,
      /** @param {ChatSummary} next */
      update: (next) => {
        chat = next;
        set(node, "aria-label", t("Rename or delete: {name}", { name: visibleLine(next.title || next.id) }));
      },
    };
  }

  /**
   * @param {HTMLElement} item
   * @param {HTMLElement} link
   * @param {ChatSummary} chat
   */
  _rename(item, link, chat) {
    const field = h("input", { class: "field", maxlength: "500", "aria-label": t("Title of the chat"), dir: "auto", autocomplete: "off" });
    field.value = chat.title || chat.id;
    let isOver = false;
    const leave = () => {
      isOver = true;
      form.remove();
      link.hidden = false;
      link.focus();
    };
    const keepIt = async () => {
      if (isOver) return;
      leave();
      await this._do(`/api/chat/${encodeURIComponent(chat.id)}/rename`, { title: field.value });
    };
    const form = h(
      "form",
      {
        class: "rename",
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          void keepIt();
        },
        onkeydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          event.preventDefault();
          leave();
        },
      },
      field,
    );
    link.hidden = true;
    item.prepend(form);
    field.focus();
    field.select();
  }

  /**
   * @param {ChatSummary} chat
   * @param {HTMLElement} from
   */
  _delete(chat, from) {
    const close = () => {
      dialog.close();
      from.focus();
    };
    const sure = async () => {
      close();
      await this._do(`/api/chat/${encodeURIComponent(chat.id)}/delete`, {});
      if (this._does.isCurrent(chat.id)) location.assign("/");
    };
    const dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": "delete-title" },
      h("h2", { id: "delete-title" }, t("Delete “{name}”?", { name: visibleLine(chat.title || chat.id) })),
      h("p", {}, t("It leaves the list and the search, and a turn that runs in it is stopped.")),
      h("p", {}, t("The log keeps its {n} blocks and its files, so that it can still be verified: whoever runs the server finds them with", { n: chat.last }), " ", h("code", {}, `callblocks timeline show ${chat.id}`), "."),
      h(
        "div",
        { class: "dialog-foot" },
        h("button", { type: "button", class: "btn", onclick: close }, t("Cancel")),
        h("button", { type: "button", class: "btn", "data-kind": "danger", onclick: sure }, t("Delete")),
      ),
    );
    openDialog(dialog);
  }

  /**
   * @param {string} path
   * @param {unknown} body
   */
  async _do(path, body) {
    try {
      await postJson(path, body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    this._does.changed();
  }
}

/**
 * Beside its button, within the page: anchors are not known to all browsers.
 * @param {HTMLElement} menu
 * @param {HTMLElement} button
 */
function place(menu, button) {
  const { bottom, left } = button.getBoundingClientRect();
  menu.style.setProperty("left", `${Math.max(8, left - 120)}px`);
  menu.style.setProperty("top", `${Math.min(bottom + 4, innerHeight - 120)}px`);
}
