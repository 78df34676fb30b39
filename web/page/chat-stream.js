/**
 * One chat as the server has it, kept up to date: what was said, and the turn that runs.
 *
 *     const stream = new ChatStream("trip", told);
 *     await stream.load();                    what was said; a turn that runs is followed
 *     await stream.say({text, files, choice})
 *
 * A stream that is cut is taken up again by the number of its last event. Where that cannot be
 * exact (a text was under way, or the server was away) the chat is read anew instead, and shown
 * once it is as far as it was: nothing is shown twice, and nothing is lost.
 */

import { isFinished, newMessage } from "../src/reduce.js";
import { ApiError } from "./api.js";
import { partsOf, postSaid, resumeTurn, shownChat, stopTurn, streamOf } from "./chat-wire.js";
import { blockOf, follow, isOver, newPlace } from "./following.js";
import { Link } from "./link.js";
import { forgetSeen, keepSeen, seenBefore, withLost } from "./lost-text.js";
import { Replay } from "./replay.js";

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {import("./chat-wire.js").Status} Status */
/** @typedef {import("./chat-wire.js").Said} Said */
/**
 * Whom a stream tells.
 * @typedef {object} Told
 * @property {() => void} messages the list changed
 * @property {(message: Message) => void} changed more of the message that is under way
 * @property {() => void} standing whether a turn runs, and how many blocks there are
 * @property {(state: import("./link.js").LinkState) => void} link
 * @property {(said: Said, error: ApiError) => void} unsent
 */

/** A chat and the turn that runs in it. */
export class ChatStream {
  /**
   * @param {string} id
   * @param {Told} told
   */
  constructor(id, told) {
    this.id = id;
    /** @type {Message[]} */
    this.messages = [];
    /** @type {Message | null} */
    this.live = null;
    /** @type {Status} */
    this.status = "idle";
    this.blocks = 0;
    this.isKnown = false;
    /** Whether the server was asked, and has no chat of this name. */
    this.isMissing = false;
    this.link = new Link(told.link);
    /** How the last turn that was followed here ended. */
    this.ended = "";
    /** The turn whose branch is shown; "" for that of the last one. */
    this.branch = "";
    /** @type {Map<string, string>} */
    this._keys = new Map();
    this._told = told;
    this._place = newPlace();
    /** How long calls took that ended before this page heard of them. @type {Map<string, number>} */
    this._took = new Map();
    this._stop = new AbortController();
    this._isBusy = false;
  }

  /** Whether a turn is under way, or about to be. */
  get isLive() {
    return this.live !== null;
  }

  /** Read the chat, and follow its turn if one runs. */
  async load() {
    if (this._isBusy || this.link.isClosed) return;
    await this._held(() => this._stay(() => this._read()));
  }

  /**
   * Say something; the turn that answers is followed.
   * @param {Said} said
   */
  async say(said) {
    const at = Date.now();
    this.ended = "";
    const before = this.messages;
    const place = this.messages.findIndex(({ id }) => id === `${said.edit ?? said.again}.user`);
    const first = this.messages[place];
    const parts = said.again && first ? first.parts : [...filesOf(first), ...partsOf(said)];
    const prompt = { id: `said-${at}`, role: /** @type {const} */ ("user"), parts };
    this.messages = [...(first ? before.slice(0, place) : before), prompt];
    this._begin(newMessage(`reply-${at}`));
    this._told.messages();
    const after = first ? "" : this.branch;
    const response = await this._held(() => this._post({ ...said, after }, prompt, before));
    if (response) this.branch = "";
    if (response) await this._held(() => this._stay(() => this._hear(response)));
  }

  /** Stop the turn that runs. */
  async stop() {
    await stopTurn(this.id);
  }

  /**
   * Show another version of a message, and what was said after it.
   * @param {string} turn
   */
  async show(turn) {
    this.branch = turn;
    await this.load();
  }

  /** Go on with a turn that was interrupted. */
  async resume() {
    await resumeTurn(this.id);
    await this.load();
  }

  /**
   * What the list of chats says of this one: another tab may have begun a turn, or ended one.
   * @param {{is_running: boolean, last: number}} summary
   */
  async compare(summary) {
    if (this.isLive || this._isBusy) return;
    if (summary.is_running || summary.last !== this.blocks) await this.load();
  }

  /** Stop listening. */
  close() {
    this.link.close();
    this._stop.abort();
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   */
  async _held(work) {
    this._isBusy = true;
    try {
      return await work();
    } finally {
      this._isBusy = false;
    }
  }

  /**
   * A request that `close` ends.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} request
   */
  _asked(request) {
    this._stop = new AbortController();
    return request(this._stop.signal);
  }

  /**
   * @param {Said} said
   * @param {Message} prompt
   * @param {Message[]} before
   */
  async _post(said, prompt, before) {
    try {
      return await this._asked((signal) => postSaid(this.id, prompt, said, signal));
    } catch (error) {
      if (this.link.isClosed || !(error instanceof ApiError)) throw error;
      this._unsay(before);
      this._told.unsent(said, error);
      if (error.isPassing || error.code === "turn_running") setTimeout(() => this.load());
      return null;
    }
  }

  /** @param {Message[]} before */
  _unsay(before) {
    this.messages = before;
    this._stand("idle", null);
    this._told.messages();
  }

  /**
   * @param {import("./link.js").Work} first
   */
  _stay(first) {
    return this.link.stay(first, (end, error) => {
      const isExact = !error && end === "cut" && this._isExact();
      return isExact ? () => this._rest() : () => this._read();
    });
  }

  /** Whether what follows the last event goes on exactly where the message is. */
  _isExact() {
    const { last, open } = this._place;
    return last !== "" && open.size === 0 && this.live !== null && !isFinished(this.live);
  }

  /**
   * All of the chat, and then its turn from the start.
   * @returns {Promise<"over" | "cut" | "stale">}
   */
  async _read() {
    /** @type {Record<string, string>} */
    const query = this.branch ? { turn: this.branch } : {};
    const shown = await this._asked((signal) => shownChat(this.id, signal, query));
    // A turn that runs on another branch is not shown here.
    const isHere = shown !== null && isRunning(shown.status) && !shown.branch;
    const response = isHere ? await this._asked((signal) => streamOf(this.id, signal)) : null;
    this.link.reached();
    if (isHere && !response) return this._read();
    const before = this.live;
    this.branch = shown?.branch ?? "";
    this.messages = withLost(shown?.messages ?? [], before ?? seenBefore(this.id));
    this.blocks = shown?.last ?? 0;
    this.isKnown = shown !== null;
    this.isMissing = !shown;
    if (!shown || !response) {
      this._stand(shown && !isHere && isRunning(shown.status) ? "idle" : (shown?.status ?? "idle"), null);
      this._told.messages();
      return "over";
    }
    return this._hearAgain(response, shown, before);
  }

  /**
   * Hear a turn from its start.
   * @param {Response} response
   * @param {{turn: string, status: Status}} shown
   * @param {Message | null} before
   */
  async _hearAgain(response, shown, before) {
    const old = before && before.id === shown.turn ? before : null;
    const message = newMessage(shown.turn);
    this._begin(message, shown.status);
    const put = (/** @type {Message} */ one) => void this.messages.splice(-1, 1, one);
    this._took = tookOf(before?.parts ?? []);
    if (old) put(old);
    this._told.messages();
    const replay = new Replay(message, old, put);
    return this._hear(response, { replay });
  }

  /** What came after the last event that was heard. */
  async _rest() {
    const response = await this._asked((signal) => streamOf(this.id, signal, this._place.last));
    this.link.reached();
    if (!response || !this.live) return /** @type {const} */ ("stale");
    return this._hear(response, { rest: true });
  }

  /**
   * @param {Response} response
   * @param {{rest?: boolean, replay?: Replay}} [how]
   */
  async _hear(response, { rest = false, replay } = {}) {
    const message = /** @type {Message} */ (this.live);
    if (!rest) this._place = newPlace();
    const seen = () => this._seen(message, replay?.seen() ?? true);
    const end = await follow(response, message, { place: this._place, seen, stop: this._stop, rest });
    replay?.end();
    if (end === "over") {
      this.ended = String(message.metadata?.status ?? "");
      if (message.metadata?.status === "interrupted") this.messages = withLost(this.messages, message);
      this._stand(message.metadata?.status === "interrupted" ? "interrupted" : "idle", null);
      this._told.messages();
      void this._learn();
    }
    return end;
  }

  /** What only the timeline knows of the last messages: their model, their time, their versions. */
  async _learn() {
    try {
      const shown = await shownChat(this.id, this._stop.signal, { last: "2" });
      for (const { id, metadata, parts } of shown?.messages ?? []) {
        const own = this.messages.find((one) => one.id === id);
        if (own) own.metadata = { ...metadata, ...own.metadata, ...(metadata?.versions ? { versions: metadata.versions } : {}) };
        if (own) withTimes(own, tookOf(parts));
      }
      this._told.messages();
    } catch {
      // It is shown with the next reading of the chat.
    }
  }

  /**
   * @param {Message} message
   * @param {boolean} isShown
   */
  _seen(message, isShown) {
    this._rename(message);
    this.isKnown = true;
    if (this._took.size) withTimes(message, this._took);
    const block = Math.max(this.blocks, blockOf(this._place.last));
    if (block !== this.blocks) {
      this.blocks = block;
      this._told.standing();
    }
    if (isShown && !isOver(message)) this._told.changed(message);
    keepSeen(this.id, message);
  }

  /**
   * Both messages get the server's ids once the turn has its own; their places stay theirs.
   * @param {Message} message
   */
  _rename(message) {
    const prompt = this.messages.at(-2);
    if (!prompt?.id.startsWith("said-") || message.id.startsWith("reply-")) return;
    this._keys.set(message.id, prompt.id.replace("said-", "reply-"));
    this._keys.set(`${message.id}.user`, prompt.id);
    prompt.id = `${message.id}.user`;
  }

  /**
   * What a message is called for as long as the page is open.
   * @param {Message} message
   */
  keyOf(message) {
    return this._keys.get(message.id) ?? message.id;
  }

  /**
   * @param {Message} message
   * @param {Status} [status]
   */
  _begin(message, status = "running") {
    this.messages.push(message);
    this._stand(status, message);
  }

  /**
   * @param {Status} status
   * @param {Message | null} live
   */
  _stand(status, live) {
    this.status = status;
    this.live = live;
    if (status === "idle") forgetSeen(this.id);
    this._told.standing();
  }
}

/** @param {Status} status */
function isRunning(status) {
  return status === "running" || status === "waiting";
}

/**
 * The files of a message, which stay with each version of it.
 * @param {Message | undefined} message
 */
function filesOf(message) {
  return (message?.parts ?? []).filter((part) => part.type === "file");
}

/**
 * How long calls took, by what the server says of them.
 * @param {readonly import("../src/types.js").Part[]} parts
 * @returns {Map<string, number>}
 */
function tookOf(parts) {
  const known = parts.map((one) => /** @type {const} */ ([String(one.toolCallId), one.callProviderMetadata?.callblocks?.seconds]));
  return new Map(known.filter(([, seconds]) => typeof seconds === "number"));
}

/**
 * @param {Message} message
 * @param {Map<string, number>} took
 */
function withTimes(message, took) {
  for (const [at, part] of message.parts.entries()) {
    const seconds = took.get(String(part.toolCallId));
    const own = part.callProviderMetadata?.callblocks;
    if (seconds === undefined || own?.seconds === seconds || !String(part.state).startsWith("output-")) continue;
    // A new object: what is done is drawn once for each.
    message.parts[at] = { ...part, callProviderMetadata: { ...part.callProviderMetadata, callblocks: { ...own, seconds } } };
  }
}
