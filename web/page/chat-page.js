/**
 * The parts of the chat page put together: who says what to whom.
 *
 *     composer → stream → messages        what is said, and what comes back
 *     list → stream                       what other tabs did
 *     stream → banner, header, composer   how the chat stands
 */

import { setText } from "../src/dom.js";
import { t } from "../src/words.js";
import { answer, revoke, revokedIn, waitingIn } from "./answering.js";
import { ApiError } from "./api.js";
import { Banner } from "./banner.js";
import { ChatHeader } from "./chat-header.js";
import { ChatStream } from "./chat-stream.js";
import { Choosers } from "./choosers.js";
import { CALL_ACTIONS, cancelCall, copyAs } from "./call-doing.js";
import { Composer } from "./composer.js";
import { acceptFiles } from "./dropping.js";
import { pictureOf, save } from "./files.js";
import { firstPage } from "./first-page.js";
import { FollowEnd } from "./follow-end.js";
import { icon } from "./icons.js";
import { turnOf } from "./message-foot.js";
import { Messages } from "./messages.js";
import { Queue } from "./queue.js";
import { preview } from "./preview.js";
import { shownOf } from "./opened.js";
import { resumeBar } from "./resume-bar.js";
import { mountShell } from "./shell.js";
import { Unsent } from "./unsent.js";
import { WaitingBar } from "./waiting-bar.js";

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The page of one chat. */
export class ChatPage {
  /**
   * @param {string} chat its id, "" for a new one
   * @param {string} [turn] what is shown first; "" for the end
   */
  constructor(chat, turn = "") {
    this._turn = turn;
    this._isNew = chat === "";
    this._beganHere = this._isNew;
    this.chat = chat || newId();
    this.header = new ChatHeader(this.chat);
    /** @type {HTMLElement | null} */
    this._first = null;
    this.stream = new ChatStream(this.chat, {
      messages: () => this._showMessages(),
      changed: () => {
        this.messages.changed();
        this._tellWaiting();
      },
      standing: () => this._stand(),
      link: (link) => this._link(link),
      unsent: (said, error) => this._unsent.take(said, error),
    });
    this.messages = new Messages(byId("talk"), {
      keyOf: (message) => this.stream.keyOf(message),
      drawn: () => this.end.news(),
      does: {
        edit: (of, text) => void this._sayAgain({ text, edit: of }),
        again: (of) => void this._sayAgain({ text: "", again: of }),
        show: (of) => void this._act(() => this.stream.show(of)),
        keep: (text) => {
          this.composer.restore(text, []);
          this.composer.complain(t("That message was changed elsewhere. What you were writing is here."));
        },
        tell: (words) => setText(byId("status"), words),
      },
      setup: (element) => {
        element.pictureHref = pictureOf;
        element.callActions = CALL_ACTIONS;
      },
    });
    this.messages.setChat(this.chat);
    this.stream.branch = turn;
    this.queue = new Queue(byId("talk"), this.chat, {
      edit: ({ text, files }) => this.composer.restore(text, files),
      send: () => this._sendNext(),
    });
    const below = /** @type {HTMLButtonElement} */ (byId("below"));
    this.end = new FollowEnd(below, [byId("talk"), byId("composer")], () => this.stream.messages.length > 0);
    this.composer = new Composer(/** @type {HTMLFormElement} */ (byId("composer")), chat, {
      send: (text, files) => this.say(text, files),
      queue: (text, files) => this.queue.add({ text, files }),
      stop: () => this._act(() => this.stream.stop()),
    });
    this._unsent = new Unsent(this.composer);
    this.choosers = new Choosers(/** @type {HTMLElement} */ (document.querySelector(".composer-row")), {
      picked: ({ prompt }) => this.composer.box.value || this.composer.write(prompt),
    });
    this.banner = new Banner(byId("banner"), () => this._tryNow());
    this._resume = resumeBar(() => this._act(() => this.stream.resume()));
    byId("talk").append(this._resume);
  }

  /** Show the chat. */
  async open() {
    this.shell = mountShell({
      page: "chat",
      chat: this._isNew ? "" : this.chat,
      keys: this._keys(),
      heard: (chats) => this._heard(chats),
      reached: (error) => this._reached(error),
      gone: () => this.composer.complain(t("This chat was deleted elsewhere. What you say in it brings it back.")),
    });
    byId("below").prepend(icon("down"));
    const dock = /** @type {HTMLElement} */ (document.querySelector(".dock"));
    keepDock(dock);
    this._waiting = new WaitingBar(dock, () => [...blocksIn(byId("talk"))].flatMap((one) => one.questions));
    acceptFiles(byId("drop"), (files) => this.composer.files.add(files));
    this._listen();
    this._stand();
    this._loadChoices();
    if (this._isNew) this.composer.box.focus();
    else await this.stream.load();
  }

  /**
   * @param {string} text
   * @param {import("./attachments.js").Attached[]} [files]
   */
  async say(text, files = []) {
    if (this._isNew) this._becomeKnown(text);
    this._unsent.forget();
    this.end.go();
    this.messages.goLast();
    const turn = this.stream.say({ text, files, choice: this.choosers.choice() });
    this.end.go();
    await turn;
    if (this.stream.ended === "answered") this._sendNext();
  }

  /** The message that waits longest, once nothing runs. */
  _sendNext() {
    if (this.stream.isLive) return;
    const next = this.queue.take();
    if (next) void this.say(next.text, next.files);
  }

  /**
   * Another version of a message, or of its answer.
   * @param {{text: string, edit?: string, again?: string, call?: {turn: string, call: string}}} said
   */
  async _sayAgain(said) {
    if (this.stream.isLive) return this.composer.complain(t("A turn runs. Stop it first, or wait for its end; nothing was changed."));
    this._unsent.forget();
    await this.stream.say({ ...said, files: [], choice: this.choosers.choice() });
    if (this.stream.ended === "answered") this._sendNext();
  }

  /**
   * Send a prompt of the first page. Its card goes, and the focus with it, to where one goes on.
   * @param {string} prompt
   */
  _begin(prompt) {
    this.say(prompt, this.composer.files.taken());
    // Under a finger the focus would bring up the keyboard.
    if (matchMedia("(pointer: fine)").matches) this.composer.box.focus();
  }

  /** @param {string} text what was said first */
  _becomeKnown(text) {
    this._isNew = false;
    this.header.setTitle(text);
    history.pushState(null, "", `/?chat=${this.chat}`);
    this.composer.setChat(this.chat);
    this.queue.setChat(this.chat);
    this.shell?.setChat(this.chat);
    if (this.shell) this.shell.list.current = this.chat;
  }

  _listen() {
    byId("share").addEventListener("click", () => this._act(async () => {
      await this.header.share();
      setText(byId("status"), "The chat was saved as one HTML file.");
    }));
    const talk = byId("talk");
    talk.addEventListener("callblocks-answer", async (event) => {
      await answer(/** @type {CustomEvent} */ (event));
    });
    talk.addEventListener("callblocks-call", (event) => {
      const { call, action } = /** @type {CustomEvent} */ (event).detail;
      const { message } = /** @type {import("../src/call-blocks.js").CallBlocks} */ (event.target);
      this._act(() => this._doWith(call, action, message ? turnOf(message) : ""));
    });
    talk.addEventListener("callblocks-revoke", (event) =>
      this._act(() => revoke(/** @type {CustomEvent} */ (event), this.messages)),
    );
    talk.addEventListener("callblocks-open", (event) => {
      event.preventDefault();
      const { detail } = /** @type {CustomEvent} */ (event);
      const shown = shownOf(detail);
      // What the person gave is shown here also while it is only in this page.
      const isSaved = detail.how === "download" && !detail.file;
      if (isSaved && shown.href) this._act(() => save(shown.href ?? "", shown.name));
      else preview(shown);
    });
    addEventListener("popstate", () => location.reload());
  }

  /**
   * @param {import("../src/types.js").Call} call
   * @param {string} action
   * @param {string} turn
   */
  async _doWith(call, action, turn) {
    if (action === "cancel") await cancelCall(this.chat, call);
    else if (action === "copy-as") await copyAs(call);
    else if (action === "timeline") location.assign(`/timeline?name=${encodeURIComponent(this.chat)}#${encodeURIComponent(`tc:${turn}.${call.id}.call`)}`);
    else if (action === "again") await this._sayAgain({ text: `Run ${call.name} again, as you called it before, and go on with what it gives.`, call: { turn, call: call.id } });
  }

  _keys() {
    return [
      { key: "/", words: "Message box", run: () => this.composer.box.focus() },
      { key: "Enter", shown: "Enter", words: "Send; with Shift, a new line" },
      { key: "Escape", shown: "Esc", words: "Stop the turn, or close what is open", run: () => this._escape() },
    ];
  }

  _escape() {
    const isCovered = document.querySelector("dialog[open], [popover]:popover-open");
    if (!isCovered && this.stream.isLive) this._act(() => this.stream.stop());
  }

  async _loadChoices() {
    await this._act(() => this.choosers.load());
    this._showFirst();
  }

  /** @param {() => Promise<unknown>} work what fails is said in the composer */
  async _act(work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.composer.complain(error.message);
    }
  }

  _showMessages() {
    this.messages.show(this.stream.messages, this.stream.live);
    if (this._turn && this.stream.messages.length > 0) {
      const turn = this._turn;
      this._turn = "";
      this.end.isThere = !this.messages.reveal(turn);
    }
    this._unsent.compare(this.stream.messages);
    this._showFirst();
    this._stand();
    this._act(async () => {
      this.messages.setRevoked(await revokedIn(this.stream.messages));
    });
  }

  _showFirst() {
    this._first?.remove();
    this._first = null;
    const { messages, isKnown, isMissing } = this.stream;
    // Until the server has said what there is, nothing is shown: it would only be seen to go.
    if (messages.length > 0 || isKnown || !(this._beganHere || isMissing)) return;
    const send = (/** @type {string} */ prompt) => this._begin(prompt);
    this._first = firstPage(this.choosers.scenarios, send, !this._beganHere);
    byId("talk").append(this._first);
  }

  _tellWaiting() {
    const waiting = waitingIn(this.stream.live);
    this.header.setWaiting(waiting);
    this._waiting?.update(waiting);
  }

  _stand() {
    const { status, isLive, isKnown } = this.stream;
    this.composer?.setLive(isLive);
    this.queue?.setLive(isLive);
    this.header.setLive(isLive, this.stream.ended);
    this.header.show(this.stream);
    this._tellWaiting();
    if (this._resume) this._resume.hidden = status !== "interrupted" || isLive;
  }

  /** @param {import("./chat-list.js").ChatSummary[]} chats */
  _heard(chats) {
    const own = chats.find((one) => one.id === this.chat);
    if (!own) return;
    if (own.title) this.header.setTitle(own.title);
    this.stream.compare(own);
  }

  /** @param {ApiError | null} error of the list; a stream that is lost says more */
  _reached(error) {
    if (this.stream.isLive || this.stream.link.isLost) return;
    if (error?.isPassing) this.stream.load();
    else if (error) this.banner.lost({ seconds: 0, words: error.message, block: 0 });
  }

  /** @param {import("./link.js").LinkState} link */
  _link(link) {
    if (link.state === "ok") this.banner.ok(link.isBack);
    else this.banner.lost({ ...link, block: this.stream.blocks });
  }

  _tryNow() {
    const { tryNow } = this.stream.link.patience;
    if (tryNow) tryNow();
    else this.shell?.list.refresh();
  }
}

/**
 * @param {HTMLElement} place
 * @returns {NodeListOf<import("../src/call-blocks.js").CallBlocks>}
 */
const blocksIn = (place) => place.querySelectorAll("call-blocks");

/**
 * What sticks above the composer must know how high it is.
 * @param {HTMLElement} dock
 */
function keepDock(dock) {
  const tell = () => document.documentElement.style.setProperty("--dock", `${dock.offsetHeight}px`);
  new ResizeObserver(tell).observe(dock, { box: "border-box" });
}

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `chat-${Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("")}`;
}
