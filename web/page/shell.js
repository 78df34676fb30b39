/**
 * What stands around every page: the sidebar with its links and chats, the theme, the keys.
 *
 *     <aside class="side" id="side" popover aria-label="Chats and pages"></aside>
 *     const shell = mountShell({page: "playground"});
 *
 * A page's header has a button `popovertarget="side"`, which is seen where the sidebar is a drawer.
 */

import { h } from "../src/dom.js";
import { t } from "../src/words.js";
import { ChatList } from "./chat-list.js";
import { icon } from "./icons.js";
import { shortcuts } from "./shortcuts.js";
import { themeButton } from "./theme-button.js";

/** @typedef {"chat" | "playground" | "timeline" | "settings"} PageName */

const KEYS = [
  { key: "n", words: "New chat", run: () => location.assign("/") },
  { key: "p", words: "Playground", run: () => location.assign("/playground") },
  { key: "t", words: "Timeline", run: () => document.querySelector(/** @type {"a"} */ ("a[data-page=timeline]"))?.click() },
];

/**
 * Fill the sidebar; `keys` are those of the page, `chat` the one that is open.
 * @param {object} how
 * @param {PageName} how.page
 * @param {string} [how.chat]
 * @param {import("./shortcuts.js").Shortcut[]} [how.keys]
 * @param {(chats: import("./chat-list.js").ChatSummary[]) => void} [how.heard]
 * @param {(error: import("./api.js").ApiError | null) => void} [how.reached]
 * @param {() => void} [how.gone]
 */
export function mountShell({ page, chat = "", keys = [], heard, reached, gone }) {
  const side = /** @type {HTMLElement} */ (document.getElementById("side"));
  const chats = h("nav", { "aria-label": t("Chats") });
  side.replaceChildren(brand(), pages(page, chat), chats, foot());
  for (const menu of document.querySelectorAll(".menu")) if (!menu.hasChildNodes()) menu.append(icon("menu"));
  shortcuts([...KEYS, ...keys]);
  closeWhenWide(side);
  return { side, list: new ChatList(chats, { current: chat, heard, reached, gone }), setChat: (/** @type {string} */ id) => setChat(side, id) };
}

function brand() {
  return h("a", { class: "brand", href: "/" }, icon("brand"), "callblocks");
}

/**
 * @param {PageName} page
 * @param {string} chat
 */
function pages(page, chat) {
  const rows = [
    row("/", "New chat", page === "chat" && !chat, h("kbd", { class: "wide" }, "N")),
    row("/playground", "Playground", page === "playground"),
    row(timelineOf(chat), "Timeline", page === "timeline"),
    row("/settings", "Settings", page === "settings"),
  ];
  return h("nav", { "aria-label": t("Pages") }, h("ul", {}, ...rows));
}

/**
 * @param {string} href
 * @param {string} words
 * @param {boolean} isCurrent
 * @param {Node | null} [more]
 */
function row(href, words, isCurrent, more = null) {
  const props = { class: "row", href, "data-page": words.toLowerCase().replace(" ", "-"), "aria-current": isCurrent && "page" };
  return h("li", {}, h("a", props, h("span", {}, t(words)), more));
}

/** @param {string} chat */
function timelineOf(chat) {
  return chat ? `/timeline?name=${encodeURIComponent(chat)}` : "/timeline";
}

/**
 * Another chat is open: the links follow.
 * @param {HTMLElement} side
 * @param {string} id
 */
function setChat(side, id) {
  side.querySelector("[data-page=timeline]")?.setAttribute("href", timelineOf(id));
  side.querySelector("[data-page=new-chat]")?.removeAttribute("aria-current");
}

function foot() {
  return h("div", { class: "side-foot" }, h("span", { class: "num" }, location.host), themeButton());
}

/**
 * A drawer that is open must not stay open as a sidebar.
 * @param {HTMLElement} side
 */
function closeWhenWide(side) {
  const wide = matchMedia("(width >= 60rem)");
  wide.addEventListener("change", () => {
    if (wide.matches && side.matches(":popover-open")) side.hidePopover();
  });
}
