/**
 * Files of a message: those that calls made, and those that somebody gave.
 *
 *     {"type": "data-artifact", "data": {"path": "out/a.png", "digest": "…", "size": 7, …}}
 *     {"type": "file", "filename": "a.png", "mediaType": "image/png", "url": "…"}
 *
 * @module
 */

import { objectOf, textOf } from "./notes.js";

/** @import {Artifact, Call, FileRef, Part} from "./types.js" */

const KEPT = /\n\.\.\. \([0-9.]+[KM]?B in all, kept as ([^\n]*)\)$/;

/**
 * The file of a `data-artifact` part; none where it is empty, or nothing leads to it.
 * @param {Part} part
 * @returns {Artifact | null}
 */
export function artifactOf(part) {
  const given = objectOf(part.data);
  const digest = textOf(given.digest);
  const size = typeof given.size === "number" ? given.size : -1;
  if (!digest || size <= 0) return null;
  const path = textOf(given.path);
  return {
    digest,
    path,
    name: path.split("/").at(-1) || digest.slice(0, 12),
    mime: textOf(given.mime) || "application/octet-stream",
    size,
    callId: textOf(given.toolCallId),
    href: textOf(given.url) || `/api/artifacts/${encodeURIComponent(digest)}`,
  };
}

/**
 * The file of a `file` part.
 * @param {Part} part
 * @returns {FileRef}
 */
export function fileOf(part) {
  const url = textOf(part.url);
  return {
    name: textOf(part.filename) || "file",
    mime: textOf(part.mediaType) || "application/octet-stream",
    url,
    ...(typeof part.size === "number" ? { size: part.size } : {}),
    ...(textOf(part.text) ? { text: part.text } : {}),
  };
}

/**
 * Whether an artifact is all of an output that was too long to stand in the message.
 * @param {Call} call
 * @param {Artifact} artifact
 * @returns {boolean}
 */
export function isRestOf(call, artifact) {
  const kept = typeof call.output === "string" ? KEPT.exec(call.output) : null;
  return kept !== null && kept[1] === artifact.path;
}
