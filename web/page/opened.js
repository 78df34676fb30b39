/**
 * What `callblocks-open` asks to see, as a preview shows it.
 *
 *     {artifact, href}   {file, href}   {result, href?}
 */

/** @typedef {import("./preview.js").Shown} Shown */

/**
 * @param {any} detail
 * @returns {Shown}
 */
export function shownOf(detail) {
  const { artifact, file, result, href } = detail;
  if (artifact) return { name: artifact.name, mime: artifact.mime, size: artifact.size, href: named(href, artifact.name) };
  if (file) return { name: file.name, mime: file.mime, size: file.size, href: named(href, file.name) };
  const name = String(result?.name ?? "result");
  return href ? { name, mime: "text/plain", href } : { name, text: wholeOf(result) };
}

/**
 * The address of an artifact, with the name that it is saved under.
 * @param {string} href
 * @param {string} name
 */
function named(href, name) {
  const url = new URL(href, location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith("/api/artifacts/")) return href;
  url.searchParams.set("name", name);
  return url.pathname + url.search;
}

/** @param {any} call */
function wholeOf(call) {
  const whole = call?.error ?? call?.output ?? "";
  return typeof whole === "string" ? whole : (JSON.stringify(whole, null, 2) ?? "");
}
