/**
 * What a browser keeps for the person: for this tab, or for all of them. JSON under
 * `callblocks.NAME`. Where a browser keeps nothing, all is as on the first visit.
 *
 *     keep("draft.trip", "Hello")     kept("draft.trip", "")
 */

const PREFIX = "callblocks.";

/**
 * What was kept under a name, or `otherwise`.
 * @template T
 * @param {string} name
 * @param {T} otherwise
 * @param {"tab" | "browser"} [where]
 * @returns {T}
 */
export function kept(name, otherwise, where = "tab") {
  try {
    const found = storage(where).getItem(PREFIX + name);
    return found === null ? otherwise : JSON.parse(found);
  } catch {
    return otherwise;
  }
}

/**
 * Keep a value; undefined forgets the name.
 * @param {string} name
 * @param {unknown} value
 * @param {"tab" | "browser"} [where]
 */
export function keep(name, value, where = "tab") {
  try {
    if (value === undefined) storage(where).removeItem(PREFIX + name);
    else storage(where).setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A full or forbidden storage costs only what would have been remembered.
  }
}

/** @param {"tab" | "browser"} where */
function storage(where) {
  return where === "tab" ? sessionStorage : localStorage;
}
