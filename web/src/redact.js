/**
 * Secrets do not reach a screen: what plainly is one is covered by a mask, as on the server.
 *
 *     api_key=abc123xyz                api_key=••••••••
 *     {"password": "hunter2"}          {"password": "••••••••"}
 *     Authorization: Basic dTpw; ls    Authorization: Basic ••••••••; ls
 *
 * A mask covers one word: blanks, line ends and what a shell acts on stay in sight. It is a net for
 * the obvious, not a proof. Only as much of a long text is looked at as is shown.
 *
 * @module
 */

export const REDACTED = "••••••••";
const MARGIN = 512;

const EDGE = "(?:(?<![A-Za-z0-9_-])|(?<=\\\\[nrt]))";
// Whole names, up to `token`, of what says where a list goes on or what has been seen of it.
const PLACE =
  `(?:${EDGE}|(?<=[ \t\n\r\f\v]--))` +
  "(?:(?:(?:next|prev|previous|start|new[_-]?start)[_-]?)?page|(?:next[_-]?)?sync" +
  "|(?:next[_-]?)?continuation|next)[_-]?";
const KEY = anyCase(
  `(?:(?:api|access|secret|private|signing|encryption)[_-]?key|(?<!${PLACE})token|secret` +
    "|authorization|passwor[dt]|passwd|passphrase|credentials?|[_-]pass)",
);
const IS = `\\\\*["']?\\]?[ \\t]{0,8}(?::=|=>|[:=])[ \\t]{0,8}`;
const BREAK = "(?:\\r?\\n|(?:\\\\r)?\\\\n)";
const PRIVATE = "[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----";
const WORD = "\\p{L}\\p{N}_";
// One word of a secret: no blank, no invisible character, nothing that a shell acts on.
const PIECE =
  "[^\\x00-\\x20\\x7f-\\xa0\\u1680\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\ufeff" +
  ";|&<>()$`{}\\[\\]*?\"'\\\\]";
const SCHEME = anyCase("(?:basic|bearer|digest|token|apikey|negotiate|ntlm|hawk|oauth|aws4-hmac-sha256)");
const SHAPES = [
  "sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{10,}",
  "[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
  "gh[opsur]_[A-Za-z0-9]{16,}",
  "github_pat_[A-Za-z0-9_]{16,}",
  "glpat-[A-Za-z0-9_-]{16,}",
  "xox[a-z]-[A-Za-z0-9-]{10,}",
  "(?:AKIA|ASIA)[A-Z0-9]{12,}",
  "AIza[A-Za-z0-9_-]{30,}",
  "(?:hf|npm)_[A-Za-z0-9]{20,}",
  "eyJ[A-Za-z0-9_-]{8,}(?:$|\\.[A-Za-z0-9_-]{8,}(?:$|\\.[A-Za-z0-9_-]*))",
];
const BEARER = `(?:(?=[A-Za-z._~+/=-]*[0-9])[${WORD}.~+/=-]{6,}|[${WORD}.~+/=-]{20,})`;
const TYPES =
  `(?!${anyCase("(?:string|number|boolean|optional|undefined)")}(?![${WORD}])|${SCHEME}[ \\t])`;
const BARE = `${TYPES}[${WORD}.+/=~$%^*!@#-]{6,}(?<call>[(\\[])?`;
const VALUE = `(?:(")(?:[^"\\\\\\n]|\\\\.)+|(')(?:[^'\\\\\\n]|\\\\.)+|(\\\\+["'])[^"'\\\\\\n]+|${BARE})`;

/** @type {[RegExp, "all" | "rest" | "value"][]} */
const RULES = [
  rule(`(-----BEGIN ${PRIVATE})[^]*?(?=-----END ${PRIVATE}|$)`),
  rule(
    `(${anyCase("authorization")}${IS}(?:${SCHEME}[ \\t]{1,8}(?=${PIECE})|(?=${PIECE}{4})))${PIECE}+` +
      `(?:[ \\t]{1,8}(?=[^\\s0-9]{0,255}[0-9])${PIECE}{6,})?(?:,?[ \\t]{1,8}[${WORD}-]{1,64}=${PIECE}+){0,16}`,
  ),
  rule(`${EDGE}(?:${SHAPES.join("|")})`, "all"),
  rule(`(?<![${WORD}])(${anyCase("bearer")}[ \\t]{1,8})${BEARER}`),
  rule("(://[^\\s/:@]{0,64}:)[^\\s/@]{1,256}(?=@)"),
  rule(`(${KEY}${IS})${VALUE}`, "value"),
  rule(`(--${KEY}[ \\t]{1,8})(?!-)${PIECE}{4,256}`),
  rule(
    `(?<![A-Za-z0-9])(${anyCase("(?:set-)?cookie")}: ?(?:[${WORD}.-]{1,64}; ?){0,8}[${WORD}.-]{1,64}=)` +
      `${PIECE}{3,}(?:; ?[${WORD}.-]{1,64}=${PIECE}+){0,32}`,
  ),
  rule(
    `(${KEY}\\\\*["']?:[ \\t]{0,8}(?:[|>][+-]?[ \\t]{0,8})?${BREAK}[ \\t]{1,32}["']?)` +
      `(?=[^\\s:]{0,255}[0-9])[^\\s:"'\\\\]{6,256}(?=["']?[ \\t]{0,8}(?:${BREAK}|$))`,
  ),
  // The closing name may be in another case.
  rule(
    `((${KEY})(?:[ \\t][^<>]{0,64})?>\\s{0,8})[^<>\\s]{4,256}(?=\\s{0,8}</[${WORD}:.-]{0,32}\\2>)`,
    "rest",
    "giu",
  ),
  rule(
    "(?:(?<=http)|(?<=https))(://)(?:(?=[^\\s/:@?#]{0,255}[0-9])[^\\s/:@?#\"'<>]{8,256}" +
      "|[^\\s/:@?#\"'<>]{20,256})(?=@)",
  ),
  rule(
    `(${EDGE}${anyCase("curl")}(?![${WORD}-])(?:(?!${anyCase("curl")})[^\\n|;]){0,200}?[ \\t]` +
      `(?:-u[ \\t]{0,8}|--user[ \\t=]{1,8})["']?[^\\s:"'/\\\\]{1,64}:)${PIECE}{1,256}`,
  ),
  rule(
    `(${EDGE}${anyCase("mysql")}(?:dump|admin)?(?![${WORD}-])(?:(?!${anyCase("mysql")})[^\\n|;]){0,200}?[ \\t]-p)` +
      `(?!-)${PIECE}{4,256}`,
  ),
  rule(
    `(${anyCase("pwd")}=\\\\*["']?)(?![/~.$<{%\\[=]|[A-Za-z]:|[${WORD}.]{0,64}[(\\[])(?:(?!,)${PIECE}){4,256}`,
  ),
];
const SECRET_KEY = new RegExp(`${KEY}$`);
// Where none of these stands, no rule can match: most texts are done here.
const ANY = new RegExp(
  "-----BEGIN |authorization|[rs]k[-_]|gh[opsur]_|github_pat_|glpat-|xox|AKIA|ASIA|AIza|hf_|npm_|eyJ" +
    "|bearer|://|key|token|secret|pass|credential|cookie|curl|mysql|pwd=",
  "i",
);

/**
 * Replace every obvious secret, keeping the names and quotes around it.
 * @param {string} text
 * @returns {string}
 */
export function redact(text) {
  if (!ANY.test(text)) return text;
  return RULES.reduce((left, [pattern, kind]) => hide(left, pattern, kind), text);
}

/**
 * Redact enough of a text to show `length` characters of it, and to know if there are more.
 * @param {string} text
 * @param {number} length
 * @returns {string}
 */
export function redactStart(text, length) {
  for (let window = length * 4 + MARGIN; window < text.length; window *= 4) {
    const start = redact(text.slice(0, window));
    if (start.length > length + MARGIN) return start;
  }
  return redact(text);
}

/**
 * Whether a value under this name is a secret by its name alone: `api_key`, `dbPassword`.
 * @param {string} key
 * @returns {boolean}
 */
export function isSecretKey(key) {
  return SECRET_KEY.test(key);
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 * @param {"all" | "rest" | "value"} kind
 */
function hide(text, pattern, kind) {
  return text.replace(pattern, (...found) => {
    const groups = typeof found.at(-1) === "object" ? found.at(-1) : {};
    // What is called is no value.
    if (groups.call) return found[0];
    const names = { all: [], rest: [found[1]], value: [found[1], found[2], found[3], found[4]] }[kind];
    const kept = names.map((part) => part ?? "").join("");
    return kept + cover(found[0].slice(kept.length));
  });
}

const COVERED = new RegExp(`(\\\\[^])|${PIECE}+`, "gu");
const AFTER_SCHEME = new RegExp(`^${SCHEME}[ \\t]{1,8}(?=\\S)`, "u");

/**
 * Cover each word of a secret; the name of a scheme stays, and so does an escape.
 * @param {string} secret
 */
function cover(secret) {
  const scheme = AFTER_SCHEME.exec(secret)?.[0] ?? "";
  return scheme + secret.slice(scheme.length).replace(COVERED, (_, escape) => escape ?? REDACTED);
}

/**
 * @param {string} source
 * @param {"all" | "rest" | "value"} [kind]
 * @param {string} [flags]
 * @returns {[RegExp, "all" | "rest" | "value"]}
 */
function rule(source, kind = "rest", flags = "gu") {
  return [new RegExp(source, flags), kind];
}

/**
 * A pattern whose letters stand for both cases; letters in classes and escapes are none.
 * @param {string} source
 */
function anyCase(source) {
  return source.replace(/\[[^\]]*\]|[a-z]/g, (found) =>
    found.length > 1 ? found : `[${found}${found.toUpperCase()}]`,
  );
}
