/**
 * The chat page: `/` is a new chat, `/?chat=ID` one that is there.
 */

import { ChatPage } from "./chat-page.js";

const chat = new URLSearchParams(location.search).get("chat") ?? "";
new ChatPage(chat).open();
