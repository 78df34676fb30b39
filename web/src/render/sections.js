/**
 * The sections of a message as nodes, each kind by its view. Renderers never see wire JSON.
 *
 * @module
 */

import { keyed } from "../dom.js";
import { approvalView, isOpen } from "./approval.js";
import { artifactView } from "./artifact.js";
import { batchView } from "./batch.js";
import { fileView } from "./file.js";
import { thoughtView, validationView } from "./folds.js";
import { endingView, memberView, otherView, problemView, sourceView } from "./lines.js";
import { cursorView, proseView } from "./prose.js";
import { withSpeakers } from "./speakers.js";

/** @typedef {import("../types.js").Section} Section */
/** @typedef {import("./host.js").Host} Host */
/** @typedef {import("../dom.js").View<any>} AnyView */

/** @typedef {Section | {kind: "cursor", key: string}} Drawn */

/** @type {Record<Drawn["kind"], (first: any, host: Host) => AnyView>} */
const VIEWS = {
  prose: proseView,
  thought: thoughtView,
  batch: batchView,
  validation: validationView,
  approval: approvalView,
  artifact: artifactView,
  file: fileView,
  source: sourceView,
  member: memberView,
  problem: problemView,
  ending: endingView,
  other: otherView,
  cursor: cursorView,
};
/** @type {Drawn} */
const CURSOR = { kind: "cursor", key: "cursor" };

/** The sections of one message, kept up to date. */
export class Sections {
  /** @type {Map<string, AnyView>} */
  #views = new Map();

  /**
   * @param {HTMLElement} place
   * @param {Host} host
   */
  constructor(place, host) {
    this.place = place;
    this.host = host;
  }

  /**
   * @param {readonly Section[]} sections
   * @param {boolean} hasCursor whether it shows that more is to come
   */
  show(sections, hasCursor = false) {
    /** @type {Drawn[]} */
    const drawn = numbered(withSpeakers(sections)).filter(({ kind }) => Object.hasOwn(VIEWS, kind));
    if (hasCursor && !sections.some(isGoing)) drawn.push(CURSOR);
    keyed(this.place, this.#views, drawn, keyOf, (one) => VIEWS[one.kind](one, this.host));
  }
}

/**
 * The questions that wait, each with its place among them.
 * @param {Section[]} sections
 * @returns {Section[]}
 */
function numbered(sections) {
  const waiting = sections.flatMap((one) => (one.kind === "approval" && isOpen(one.approval) ? [one.approval] : []));
  let at = 0;
  return sections.map((one) =>
    one.kind === "approval" && isOpen(one.approval) ? { ...one, at: (at += 1), waiting } : one,
  );
}

/** @param {Drawn} section */
const keyOf = (section) => `${section.kind} ${section.key}`;

/**
 * Whether a section itself shows that the turn goes on.
 * @param {Section} section
 */
function isGoing(section) {
  if (section.kind === "prose" || section.kind === "thought") return section.live;
  if (section.kind === "batch") return section.running !== "";
  return section.kind === "approval" && section.approval.approved === undefined && !section.approval.over;
}
