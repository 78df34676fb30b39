/**
 * Who speaks, where several members of a team do: a heading wherever it changes.
 *
 *     member critic    prose of critic    prose of writer
 *     critic           …                  writer  …
 *
 * @module
 */

/** @typedef {import("../types.js").Section} Section */

/**
 * The sections with a heading before each that another member says.
 * @param {readonly Section[]} sections
 * @returns {Section[]}
 */
export function withSpeakers(sections) {
  /** @type {Section[]} */
  const said = [];
  let speaker = "";
  for (const section of sections) {
    const next = speakerOf(section) ?? speaker;
    if (next !== speaker && section.kind !== "member") said.push(heading(section.key, next));
    speaker = next;
    said.push(section);
  }
  return said;
}

/**
 * Who a section is of; files and the like belong to whoever spoke.
 * @param {Section} section
 * @returns {string | undefined}
 */
function speakerOf(section) {
  if (section.kind === "member") return section.name;
  const isSaid = section.kind === "prose" || section.kind === "thought" || section.kind === "batch";
  return isSaid ? section.member ?? "" : undefined;
}

/**
 * @param {string} key
 * @param {string} name nobody: the team speaks again
 * @returns {Section}
 */
function heading(key, name) {
  return { kind: "member", key: `speaker:${key}`, name, status: "answered", message: "" };
}
