/**
 * The chat page: `/` is a new chat, `/?chat=ID` one that is there.
 */

import "./language.js";
import { ChatPage } from "./chat-page.js";

/** As the server has it. */
const CHAT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const asked = new URLSearchParams(location.search);
const given = asked.get("chat") ?? "";
// What no chat can be called, none is asked for.
const chat = CHAT_NAME.test(given) ? given : "";
if (given && !chat) history.replaceState(null, "", "/");
new ChatPage(chat, chat ? (asked.get("turn") ?? "") : "").open();
