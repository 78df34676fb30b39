/**
 * Asking the server: JSON in, JSON out, the token where there is one, and faults as `ApiError`.
 *
 *     const {chats} = await getJson("/api/chats");
 *     await postJson(`/api/approvals/${id}`, {verdict: "once"});
 *
 * A token comes once in the address, `/#token=…`. It is exchanged for a cookie, which no script can
 * read, and leaves the address.
 */

/** A fault in the server's words; `status` 0 and code `unreachable` where none came. */
export class ApiError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {number} [status]
   * @param {number} [retryAfter] in seconds, 0 where the server named none
   */
  constructor(code, message, status = 0, retryAfter = 0) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may work later, without anything changed. */
  get isPassing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** Done once the browser has its cookie, or needs none. @type {Promise<void>} */
let signedIn = signIn();
globalThis.addEventListener?.("hashchange", () => (signedIn = signIn()));

async function signIn() {
  const token = new URLSearchParams(globalThis.location?.hash.slice(1) ?? "").get("token");
  if (!token) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  // A token that is refused is told by whatever is asked next.
  await fetch("/api/sign-in", { method: "POST", headers: { authorization: `Bearer ${token}` } }).catch(() => {});
}

/** The dialog that asks for the token, while it is open. @type {Promise<boolean> | undefined} */
let asking;

/** Whether the person gave a token that the server takes; one dialog for all that wait. */
function askToken() {
  asking ??= import("./token-gate.js")
    .then(({ tokenGate }) => tokenGate())
    .finally(() => (asking = undefined));
  return asking;
}

/**
 * A response with a good status; anything else is thrown as an `ApiError`.
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
export async function ask(path, init = {}) {
  await signedIn;
  let response = await reached(path, init);
  if (response.status === 401 && globalThis.document && (await askToken())) response = await reached(path, init);
  if (!response.ok) throw await faultOf(response);
  return response;
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function getJson(path, init = {}) {
  return bodyOf(await ask(path, init));
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function postJson(path, body, init = {}) {
  return bodyOf(await post(path, body, init));
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {RequestInit} [init]
 */
export async function post(path, body, init = {}) {
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/json");
  return ask(path, { ...init, method: "POST", headers, body: JSON.stringify(body) });
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function reached(path, init) {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("unreachable", "The server cannot be reached.");
  }
}

/**
 * The JSON of a response; a body that breaks off is an outage like any other.
 * @param {Response} response
 */
async function bodyOf(response) {
  try {
    return await response.json();
  } catch {
    throw new ApiError("unreachable", "The answer of the server broke off.");
  }
}

/** @param {Response} response */
async function faultOf(response) {
  const after = Number(response.headers.get("retry-after")) || 0;
  try {
    const { error } = await response.json();
    return new ApiError(String(error.code), sentence(String(error.message)), response.status, after);
  } catch {
    const words = `The server answered with status ${response.status}.`;
    return new ApiError("unknown", words, response.status, after);
  }
}

/**
 * The words of a fault as a sentence of the page.
 * @param {string} words
 */
export function sentence(words) {
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
