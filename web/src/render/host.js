/**
 * What views ask of the element that they stand in.
 *
 * @module
 */

/** @typedef {import("../types.js").Artifact} Artifact */
/** @typedef {import("../types.js").FileRef} FileRef */

/**
 * @typedef {object} Host
 * @property {Set<string>} openKeys the folds that the person opened
 * @property {(name: string, detail: object, cancelable?: boolean) => boolean} emit
 *   false where a listener prevented what would follow
 * @property {(text: string) => void} announce say something to a screen reader, politely
 * @property {(artifact: Artifact) => string} artifactHref
 * @property {(thing: Artifact | FileRef, href: string) => string | Promise<string>} pictureHref
 * @property {(id: string) => string} failure why an answer could not be given, or nothing
 * @property {(id: string) => void} retry another answer is given
 * @property {(id: string) => boolean} revoked whether a grant was taken back
 * @property {Set<string>} callActions what can be done with a call
 */

/**
 * Let a fold remember whether it is open. Only what the person did is told.
 * @param {HTMLDetailsElement} fold
 * @param {string} key
 * @param {Host} host
 * @param {(isOpen: boolean) => void} [then]
 */
export function remember(fold, key, host, then) {
  fold.open = host.openKeys.has(key);
  fold.addEventListener("toggle", () => {
    then?.(fold.open);
    if (host.openKeys.has(key) === fold.open) return;
    if (fold.open) host.openKeys.add(key);
    else host.openKeys.delete(key);
    host.emit("callblocks-toggle", { key, open: fold.open });
  });
}

/**
 * Ask a listener to open something; the link is followed unless one does.
 * @param {HTMLElement} link
 * @param {Host} host
 * @param {() => object} detail
 */
export function opens(link, host, detail) {
  link.addEventListener("click", (event) => {
    if (!host.emit("callblocks-open", detail(), true)) event.preventDefault();
  });
}
