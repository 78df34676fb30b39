/**
 * `<call-blocks>`: a message of a model, with one tidy fold for each batch of calls.
 *
 *     element.parts = message.parts          again and again, as they grow
 *     element.feed(chunk); element.close()   or a stream, chunk by chunk
 *     element.timeline = items               or a recorded chat
 *     element.text = "<tool>…</tool>"        or a chat text
 *
 *     callblocks-answer   {approval, verdict: "once" | "while" | "deny", minutes?, reason?}
 *     callblocks-revoke   {approval: {id}}   a grant is to be taken back
 *     callblocks-open     {artifact | file | result}, cancelable: else the link is followed
 *     callblocks-call     {call, action}     a call is to be cancelled, made again, copied, found
 *     callblocks-toggle   {key, open}
 *
 * Attributes: `live` while more is to come; `show="calls"` leaves prose to the page around it.
 * Without a browser (in Node) this module can be imported, and does nothing.
 *
 * @module
 */

import { messagesOfTimeline } from "./from-timeline.js";
import { partsOfText } from "./from-text.js";
import { cut, newMessage, take } from "./reduce.js";
import { Announcer } from "./render/announcer.js";
import { Messages } from "./render/messages.js";
import { sheet } from "./styles.js";

/** @typedef {import("./types.js").Artifact} Artifact */
/** @typedef {import("./types.js").Chunk} Chunk */
/** @typedef {import("./types.js").FileRef} FileRef */
/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Part} Part */

const UNSEEN_WAIT = 200;
// In this order: who says it counts for the parts that follow.
const SETTABLE = [
  "from", "artifactHref", "pictureHref", "callActions", "openKeys", "revoked", "parts", "message", "timeline", "text",
];

const Base = globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (class {});

/** The element. */
export class CallBlocks extends Base {
  static observedAttributes = ["live", "show"];

  /** @type {Message[]} */
  #messages = [];
  /** @type {Messages | undefined} */
  #drawn;
  /** @type {Set<string>} */
  #openKeys = new Set();
  /** @type {Map<string, string>} */
  #refused = new Map();
  /** @type {Set<string>} */
  #revoked = new Set();
  /** @type {Announcer | undefined} */
  #announcer;
  /** @type {Set<string>} */
  #callActions = new Set(["copy"]);
  #isDue = false;
  #isClosed = false;
  #from = "assistant";

  /** Where an artifact is to be had. @type {(artifact: Artifact) => string} */
  #artifactHref = (artifact) => artifact.href;
  /** @type {(thing: Artifact | FileRef, href: string) => string | Promise<string>} */
  #pictureHref = (_thing, href) => href;

  /** @type {import("./render/host.js").Host} */
  #host = {
    openKeys: this.#openKeys,
    emit: (name, detail, cancelable = false) =>
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable })),
    announce: (text) => this.#announcer?.say(text),
    artifactHref: (artifact) => this.#artifactHref(artifact),
    pictureHref: (thing, href) => this.#pictureHref(thing, href),
    failure: (id) => this.#refused.get(id) ?? "",
    retry: (id) => void this.#refused.delete(id),
    revoked: (id) => this.#revoked.has(id),
    callActions: this.#callActions,
  };

  connectedCallback() {
    for (const name of SETTABLE) this.#upgrade(name);
    this.#draw();
  }

  attributeChangedCallback() {
    this.#later();
  }

  /** The parts of the message. @returns {readonly Part[]} */
  get parts() {
    return this.#messages[0]?.parts ?? [];
  }

  set parts(parts) {
    const message = { ...newMessage(), role: /** @type {Message["role"]} */ (this.#from) };
    this.#take([{ ...message, parts: [...(parts ?? [])] }]);
  }

  /** The message: its parts, who says it, and how its turn ended. @returns {Message | null} */
  get message() {
    return this.#messages[0] ?? null;
  }

  set message(message) {
    this.#take(message ? [message] : []);
  }

  /** The items of a timeline, as `GET /api/timelines/NAME?view=chat` gives them. */
  set timeline(/** @type {any[]} */ items) {
    this.#take(messagesOfTimeline(items ?? []));
  }

  /** A chat text: prose with `<tool>` blocks. */
  set text(/** @type {string} */ text) {
    this.parts = partsOfText(text ?? "");
  }

  /** The cards of the questions that wait, in their order. @returns {Element[]} */
  get questions() {
    return [...(this.shadowRoot?.querySelectorAll("section.approval") ?? [])];
  }

  /** The keys of the folds that are open; set them to open the same ones again. */
  get openKeys() {
    return new Set(this.#openKeys);
  }

  set openKeys(/** @type {Iterable<string>} */ keys) {
    this.#openKeys.clear();
    for (const key of keys ?? []) this.#openKeys.add(key);
    this.#drawn?.clear();
    this.#later();
  }

  /** What can be done with a call: `copy`, and `copy-as`, `cancel`, `again`, `timeline` by the page. */
  get callActions() {
    return new Set(this.#callActions);
  }

  set callActions(/** @type {Iterable<string>} */ actions) {
    this.#callActions.clear();
    for (const action of actions ?? []) this.#callActions.add(action);
    this.#drawn?.clear();
    this.#later();
  }

  /** Gives the address of an artifact. @returns {(artifact: Artifact) => string} */
  get artifactHref() {
    return this.#artifactHref;
  }

  set artifactHref(hrefOf) {
    this.#artifactHref = hrefOf ?? ((artifact) => artifact.href);
    this.#later();
  }

  /** Gives the address that the picture of a file is loaded from; may take its time. */
  get pictureHref() {
    return this.#pictureHref;
  }

  set pictureHref(hrefOf) {
    this.#pictureHref = hrefOf ?? ((_thing, href) => href);
    this.#later();
  }

  /**
   * Take the next chunk of a stream.
   * @param {Chunk} chunk
   */
  feed(chunk) {
    const message = this.#messages[0] ?? newMessage();
    if (this.#messages.length === 0 || this.#isClosed) {
      this.#isClosed = false;
      this.#messages = [message];
      this.toggleAttribute("live", true);
    }
    take(message, chunk);
    this.#later();
  }

  /** The stream is over, whether it came to its end or not. */
  close() {
    for (const message of this.#messages) cut(message);
    this.#isClosed = true;
    this.toggleAttribute("live", false);
    this.#later();
  }

  /**
   * An answer could not be given: say why, and let the person answer again.
   * @param {string} approvalId
   * @param {string} why
   */
  refuse(approvalId, why) {
    this.#refused.set(approvalId, why);
    this.#draw();
  }

  /** The grants that were taken back, by their approvals. @returns {Set<string>} */
  get revoked() {
    return new Set(this.#revoked);
  }

  set revoked(/** @type {Iterable<string>} */ ids) {
    const before = this.#revoked.size;
    for (const id of ids ?? []) this.#revoked.add(id);
    if (this.#revoked.size !== before) this.#later();
  }

  /** Bring what is shown up to date now, instead of with the next frame. */
  flush() {
    if (this.#isDue) this.#draw();
  }

  /** Who says it: `user` or `assistant`. Not the ARIA role, which this element leaves alone. */
  get from() {
    return this.#from;
  }

  set from(from) {
    this.#from = from || "assistant";
    for (const message of this.#messages) message.role = /** @type {Message["role"]} */ (this.#from);
    this.#later();
  }

  /** @param {Message[]} messages */
  #take(messages) {
    this.#messages = messages;
    this.#isClosed = false;
    this.#later();
  }

  /**
   * A property may have been set before the element was defined.
   * @param {string} name
   */
  #upgrade(name) {
    if (!Object.hasOwn(this, name)) return;
    const value = Reflect.get(this, name);
    Reflect.deleteProperty(this, name);
    Reflect.set(this, name, value);
  }

  /** Draw with the next frame, however much comes before it. A hidden page has no frames. */
  #later() {
    if (this.#isDue || !this.isConnected) return;
    this.#isDue = true;
    const draw = () => this.flush();
    if (document.hidden) setTimeout(draw, UNSEEN_WAIT);
    else requestAnimationFrame(draw);
  }

  #draw() {
    this.#isDue = false;
    if (!this.isConnected) return;
    this.#drawn ??= this.#open();
    this.#drawn.show(this.#messages, {
      live: this.hasAttribute("live"),
      isClosed: this.#isClosed,
      withProse: this.getAttribute("show") !== "calls",
    });
  }

  #open() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet()];
    this.#announcer = new Announcer(root);
    return new Messages(root, this.#host);
  }
}

// `role` belongs to ARIA on other elements; a page that speaks of messages says it here too.
Object.defineProperty(CallBlocks.prototype, "role", {
  configurable: true,
  get() {
    return this.from;
  },
  set(role) {
    this.from = role;
  },
});

if (globalThis.customElements && !customElements.get("call-blocks")) {
  customElements.define("call-blocks", CallBlocks);
}
