/**
 * Words for a call that did not run: who or what kept it from running, and why.
 *
 *     approval_denied: f did not run: a person said no: not today    denied by you: not today
 *     address_refused: f did not run: it is on this machine          refused, not asked: it is on …
 *     approval_expired: f did not run: nobody answered in 10 minutes not answered in 10 minutes
 *     policy_denied: f did not run: rule 1 of the policy denies: …    refused by rule 1: …
 *
 * The gate writes `did not run` into the failure of every call that it stops, and the runtime keeps these
 * words out of the failures of calls that ran. `model/verdicts.py` says the same.
 *
 * @module
 */

/** @typedef {{lead: string, why: string}} Verdict */

const ERROR = /^([a-z_]{1,64}): ?([^]*)/;
const DID_NOT_RUN = /^[^\n]{0,200}? did not run: ([^]*)/;
const RULE = /^(rule \d{1,9})[^:]{0,80}: ?([^]*)/;
/** @type {Map<string, string>} */
const LEADS = new Map([
  ["approval_denied", "denied by you"],
  ["approval_expired", "not approved in time"],
  ["approval_revoked", "not approved, taken back"],
  ["approval_required", "not approved"],
  ["approval_mismatch", "not approved"],
  ["policy_denied", "refused"],
  ["policy_off", "refused"],
]);
// Their words say no more than the lead does.
const ALONE = new Set(["approval_expired", "approval_revoked"]);
const UNANSWERED = /^nobody (answered in \d+ (?:minute|second)s?)$/;
const SAID_NO = /^a person said no(?:: )?/;

/**
 * The words for an error, written `code: message`; null where the call ran.
 * @param {string} error
 * @returns {Verdict | null}
 */
export function verdictOf(error) {
  const [, code = "", message = ""] = ERROR.exec(error) ?? [];
  const unrun = DID_NOT_RUN.exec(message);
  if (!unrun) return null;
  const words = unrun[1] ?? "";
  if (code === "cancelled") return { lead: "cancelled by you", why: "" };
  const lead = LEADS.get(code) ?? "refused, not asked";
  const unanswered = unansweredWords(words);
  if (unanswered) return { lead: unanswered, why: "" };
  if (ALONE.has(code)) return { lead, why: "" };
  if (code === "approval_denied") return { lead, why: words.replace(SAID_NO, "") };
  const rule = code === "policy_denied" ? RULE.exec(words) : null;
  return rule ? { lead: `refused by ${rule[1]}`, why: rule[2] ?? "" } : { lead, why: words };
}

/**
 * How long a question waited in vain, from the words for it; "" for other words.
 * @param {string} words
 */
export function unansweredWords(words) {
  const [, wait = ""] = UNANSWERED.exec(words) ?? [];
  return wait && `not ${wait}`;
}

/**
 * The same in one line.
 * @param {Verdict} verdict
 */
export function verdictText({ lead, why }) {
  return why ? `${lead}: ${why}` : lead;
}
