/**
 * The sections of a message while its parts are taken one after another.
 *
 * A batch stays open for the next call of the one who made it, until that one says something.
 *
 * @module
 */

import { approvalOf, askedIn } from "./asked.js";
import { isBlank } from "./blanks.js";
import { callOf, memberOf } from "./calls.js";
import { isFailed } from "./display.js";
import { artifactOf, fileOf, isRestOf } from "./kept-files.js";
import { noteOf, objectOf, textOf } from "./notes.js";
import { compactText } from "./shown.js";
import { Slots } from "./slots.js";

/** @import {Slot} from "./slots.js" */
/** @import {Approval, Batch, Call, Part, Section} from "./types.js" */

/** The sections so far; each method takes a part. */
export class Grouping {
  #slots = new Slots();
  /** @type {Map<string, {batch: Batch, slot: Slot}>} The batch that the next call joins, by member. */
  #open = new Map();
  /** @type {Map<string, {call: Call, slot: Slot}>} */
  #calls = new Map();
  /** @type {Map<string, Approval>} */
  #asked;
  #isLive;
  #isTeam;

  /**
   * @param {readonly Part[]} parts
   * @param {boolean} isLive
   */
  constructor(parts, isLive) {
    this.#asked = askedIn(parts);
    this.#isLive = isLive;
    this.#isTeam = parts.some((part) => part?.type === "data-member");
  }

  /** @returns {Section[]} */
  get sections() {
    return this.#slots.sections;
  }

  /**
   * @param {Part} part
   * @param {number} index
   */
  say(part, index) {
    const text = textOf(part.text);
    if (isBlank(text)) return;
    const member = memberOf(part);
    this.#open.delete(member);
    const key = this.#slots.key(`${part.type}:${index}`);
    const live = part.state === "streaming" && this.#isLive;
    const of = member ? { member } : {};
    const kept = part.providerMetadata?.callblocks?.kept === true ? { kept: true } : {};
    if (part.type === "text") this.#slots.push({ kind: "prose", key, text, live, ...kept, ...of });
    else this.#slots.push({ kind: "thought", key, text, live, ...seconds(part), ...of });
  }

  /** @param {Part} part */
  ask(part) {
    const asked = approvalOf(part);
    const name = `approval:${asked?.id}:${asked?.callId}`;
    if (!asked || this.#slots.has(name)) return;
    const known = this.#asked.get(asked.callId);
    const approval = known?.id === asked.id ? { ...known } : asked;
    const call = this.#calls.get(asked.callId)?.call;
    const isOver = call !== undefined && (call.state === "done" || isFailed(call));
    if (call?.state === "denied") approval.approved = false;
    else if (isOver && approval.approved === undefined) approval.over = true;
    this.#after(asked.callId, { kind: "approval", key: this.#slots.key(name), approval });
  }

  /** @param {Part} part which grant let a call through */
  grant(part) {
    const { id, toolCallId, minutes, expiresAt } = objectOf(part.data);
    const of = this.#calls.get(textOf(toolCallId));
    if (!of || !textOf(id) || !(minutes > 0)) return;
    of.call.grant = { id, minutes, expiresAt: Number(expiresAt) || 0 };
  }

  /** @param {Part} part */
  keep(part) {
    const artifact = artifactOf(part);
    if (!artifact) return;
    const of = this.#calls.get(artifact.callId);
    if (of && isRestOf(of.call, artifact)) {
      of.call.more = { size: artifact.size, href: artifact.href };
      return;
    }
    const key = this.#slots.key(`artifact:${textOf(part.id) || artifact.digest}`);
    this.#after(artifact.callId, { kind: "artifact", key, artifact });
  }

  /**
   * @param {Part} part
   * @param {number} index
   */
  attach(part, index) {
    const key = this.#slots.key(`file:${index}`);
    this.#after(textOf(part.toolCallId), { kind: "file", key, file: fileOf(part) });
  }

  /** @param {Part} part */
  join(part) {
    const { name, status, message, code } = objectOf(part.data);
    const who = textOf(name) || textOf(part.id);
    const words = textOf(message) || textOf(code);
    const key = this.#slots.key(`member:${who}`);
    this.#slots.push({ kind: "member", key, name: who, status: textOf(status), message: words });
  }

  /**
   * A section that ends every batch before it.
   * @param {string} name what its key is made of
   * @param {(key: string) => Section} made
   */
  end(name, made) {
    this.#open.clear();
    this.#slots.push(made(this.#slots.key(name)));
  }

  /**
   * @param {Part} part
   * @param {number} index
   */
  call(part, index) {
    const member = memberOf(part);
    // Of a team it is known whose call it is once its input is: before, it would have to move.
    if (this.#isTeam && this.#isLive && !member && part.state === "input-streaming") return;
    const id = textOf(part.toolCallId) || `call-${index}`;
    const call = callOf(part, id, this.#asked.get(id), this.#isLive);
    const { batch, slot } = this.#open.get(member) ?? this.#newBatch(id, member);
    batch.calls.push(call);
    batch.failed += isFailed(call) ? 1 : 0;
    if (call.state === "running" || call.state === "writing") batch.running = call.name;
    this.#calls.set(id, { call, slot });
    if (part.approval) this.ask(part);
  }

  /**
   * @param {string} id
   * @param {string} member
   */
  #newBatch(id, member) {
    const key = this.#slots.key(`batch:${id}`);
    const of = member ? { member } : {};
    /** @type {Batch} */
    const batch = { kind: "batch", key, calls: [], failed: 0, running: "", ...of };
    const open = { batch, slot: this.#slots.push(batch) };
    this.#open.set(member, open);
    return open;
  }

  /**
   * What is not known is shown, not passed over. Data may be meant for others, and ends nothing.
   * @param {unknown} part
   * @param {string} type
   * @param {number} index
   */
  other(part, type, index) {
    if (!type.startsWith("data-")) this.#open.clear();
    const key = this.#slots.key(`other:${index}`);
    this.#slots.push({ kind: "other", key, type, text: compactText(part) });
  }

  /**
   * Put a section behind the batch of a call; where there is none, it stands for itself.
   * @param {string} callId
   * @param {Section} section
   */
  #after(callId, section) {
    const of = this.#calls.get(callId);
    if (of) of.slot.after.push(section);
    else this.#slots.push(section);
  }
}

/**
 * How long a thought took, where the page saw it.
 * @param {Part} part
 */
function seconds(part) {
  const { startedAt, endedAt } = noteOf(part);
  if (startedAt === undefined || endedAt === undefined) return {};
  return { seconds: Math.max(0, (endedAt - startedAt) / 1000) };
}
