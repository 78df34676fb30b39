/**
 * How a file is looked at, by what it says it is: nothing of it is ever run.
 *
 *     picture, pdf          the browser's own viewers
 *     markdown, table       drawn as such
 *     text                  with line numbers
 *     none                  saved only
 */

/** @typedef {"picture" | "pdf" | "markdown" | "table" | "text" | "none"} Kind */

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const TEXTS = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|x-ndjson)|image\/svg\+xml|.*\+(json|xml)$)/;
const TEXT_NAMES = /\.(txt|log|json|jsonl|ya?ml|toml|ini|cfg|conf|env|xml|svg|html?|css|[cm]?[jt]sx?|py|rb|rs|go|java|kt|c|h|cc|cpp|hpp|cs|php|pl|lua|r|sql|sh|bash|zsh|ps1|bat|diff|patch|tex|rst|vue|svelte|lock|gitignore)$/i;
const PLAIN_NAMES = /(^|\/)(README|LICENSE|Makefile|Dockerfile|CHANGELOG)$/;

/**
 * @param {string} mime
 * @param {string} name
 * @returns {Kind}
 */
export function kindOf(mime, name) {
  if (PICTURES.test(mime)) return "picture";
  if (mime === "application/pdf") return "pdf";
  if (mime === "text/markdown" || /\.(md|markdown)$/i.test(name)) return "markdown";
  if (/^text\/(csv|tab-separated-values)$/.test(mime) || /\.[ct]sv$/i.test(name)) return "table";
  if (TEXTS.test(mime) || TEXT_NAMES.test(name) || PLAIN_NAMES.test(name)) return "text";
  return "none";
}

/**
 * Bytes as text; null where they are none.
 * @param {Uint8Array} bytes
 * @returns {string | null}
 */
export function textOf(bytes) {
  if (bytes.includes(0)) return null;
  return new TextDecoder().decode(bytes);
}
