/**
 * Settings: models with a test, tools with what the policy says, MCP servers, and the look.
 *
 * Models and rules are those of the server's files, and are read here; the look is kept by this
 * browser alone. A test is one real turn: its words stand in the place that is kept for them.
 */

import "./language.js";
import { h, set, setText } from "../src/dom.js";
import { visible, visibleLine } from "../src/safe.js";
import { t } from "../src/words.js";
import { ApiError, getJson, postJson } from "./api.js";
import { keep, kept } from "./keep.js";
import { LANGUAGES, language } from "./language.js";
import { mountShell } from "./shell.js";
import { choose, current } from "./theme-button.js";

/** @typedef {{name: string, is_used: boolean, dialect: string, taught: string, mode: string, address?: string, key?: string, temperature?: number, system?: string}} Model */
/** @typedef {{name: string, description: string}} Tool */
/** @typedef {{name: string, verdict: string, reason: string, exceptions: string[]}} Verdict */

const KINDS = /** @type {Record<string, string>} */ ({ ask: "wait", deny: "fail" });
const FIRST = 12;

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} id
 * @param {string} title
 * @param {string} about
 * @param {...(Node | null | false)} more
 */
const part = (id, title, about, ...more) =>
  h("section", { class: "part", id, "aria-labelledby": `h-${id}` }, h("div", { class: "part-head" }, h("h2", { id: `h-${id}` }, title), about && h("p", {}, about)), ...more);

/** @param {Model} model */
function modelRow(model) {
  const says = h("span", { class: "says", role: "status" });
  const facts = [model.mode, model.dialect === "auto" && model.taught ? `auto: ${model.taught}` : model.dialect];
  if (model.temperature !== undefined) facts.push(`${t("temperature")} ${model.temperature}`);
  if (model.key) facts.push(`${t("key")}: ${model.key}`);
  const where = [model.address, ...facts].filter(Boolean).join(" · ");
  const button = h("button", { type: "button", class: "btn", "aria-label": `${t("Test")}: ${visibleLine(model.name)}` }, t("Test"));
  button.addEventListener("click", async () => {
    set(button, "aria-disabled", "true");
    set(says, "data-kind", null);
    setText(says, t("Asking it to call a tool…"));
    try {
      const { ok, words } = await postJson("/api/models/test", { model: model.name });
      set(says, "data-kind", ok ? null : "fail");
      setText(says, visibleLine(words));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      set(says, "data-kind", "fail");
      setText(says, error.message);
    }
    set(button, "aria-disabled", null);
  });
  const name = h("span", { class: "name" }, visibleLine(model.name), model.is_used && h("b", { class: "tag" }, t("default")));
  return h("li", { class: "model-row" }, name, button, h("span", { class: "where" }, visibleLine(where)), model.system && h("span", { class: "where" }, `${t("system prompt")}: ${visibleLine(model.system.slice(0, 200))}`), says);
}

/**
 * @param {Tool[]} tools
 * @param {Verdict[]} verdicts
 */
function toolsPart(tools, verdicts) {
  const said = new Map(verdicts.map((one) => [one.name, one]));
  const list = h("ul", { class: "list" });
  const count = h("span", { class: "end", role: "status" });
  const find = h("input", { class: "field", type: "search", placeholder: t("Find a tool"), "aria-label": t("Find a tool") });
  const pick = h("select", {}, ...["all", "allow", "ask", "deny"].map((word) => h("option", { value: word }, t(word))));
  const more = h("button", { type: "button", class: "btn small", "data-kind": "quiet" });
  let shown = FIRST;
  const show = () => {
    const words = find.value.trim().toLowerCase();
    const fits = tools.filter(({ name, description }) => {
      const isOf = pick.value === "all" || said.get(name)?.verdict === pick.value;
      return isOf && `${name} ${description}`.toLowerCase().includes(words);
    });
    list.replaceChildren(...fits.slice(0, shown).map((tool) => toolRow(tool, said.get(tool.name))));
    setText(count, t("{n} of {all} tools", { n: fits.length, all: tools.length }));
    more.hidden = fits.length <= shown;
    setText(more, t("Show the other {n}", { n: fits.length - shown }));
  };
  for (const one of [find, pick]) one.addEventListener("input", show);
  more.addEventListener("click", () => {
    shown = Infinity;
    show();
  });
  show();
  const bar = h("div", { class: "tools-bar" }, find, h("label", { class: "pick" }, t("Verdict"), pick), count);
  return part("tools", t("Tools"), t("What runs is decided by the policy; this is what it says before it knows the arguments."), bar, list, h("div", { class: "side-more" }, more));
}

/**
 * @param {Tool} tool
 * @param {Verdict | undefined} verdict
 */
function toolRow({ name, description }, verdict) {
  const word = verdict?.verdict ?? "";
  const why = [verdict?.reason ?? "", ...(verdict?.exceptions ?? [])].filter(Boolean).join("; ");
  const about = visible(description).split("\n")[0] ?? "";
  return h("li", { class: "tool" }, h("div", {}, h("code", {}, visibleLine(name)), h("p", {}, about)), h("b", { class: "tag", "data-kind": KINDS[word] ?? null }, t(word)), h("span", { class: "rule" }, visibleLine(why)));
}

/** @param {any[]} servers */
function mcpPart(servers) {
  const open = new Set([...document.querySelectorAll("#mcp details[open]")].map((one) => one.getAttribute("data-server")));
  /** @param {string} name @param {boolean} on @param {string} label */
  const box = (name, on, label) => {
    const made = h("input", { type: "checkbox", role: "switch", class: "switch", checked: on, "aria-label": label });
    made.addEventListener("change", async () => {
      const { servers: after } = await had(postJson(`/api/mcp/${encodeURIComponent(name)}`, { on: made.checked }), { servers });
      byId("mcp").replaceWith(mcpPart(after));
      /** @type {HTMLElement | undefined} */ ([...document.querySelectorAll("#mcp .switch")].find((one) => one.getAttribute("aria-label") === label))?.focus();
    });
    return made;
  };
  const rows = servers.map((one) => {
    /** @type {any[]} */
    const tools = Array.isArray(one.tools) ? one.tools : [];
    const state = one.fault ? `${one.state}: ${one.fault}` : one.state;
    const says = h("span", { class: "says", "data-kind": one.fault ? "fail" : null }, visibleLine(state));
    const held = tools.map((tool) => {
      const name = visibleLine(tool.name);
      const about = visibleLine(tool.reason || tool.description);
      const isSettled = tool.state === "ready" || tool.state === "off";
      const tag = isSettled ? "" : h("b", { class: "tag", "data-kind": "ask" }, t(tool.state));
      const use = tool.state === "left-out" ? h("span", {}) : box(tool.name, tool.state !== "off", t("Use the tool {name}", { name }));
      return h("li", { class: "tool" }, use, h("div", {}, h("code", {}, name), h("p", {}, about)), tag);
    });
    const fold = tools.length ? h("details", { "data-server": one.name, open: open.has(one.name) }, h("summary", {}, t("{n} tools", { n: tools.length })), h("ul", { class: "list" }, ...held)) : "";
    return h("li", { class: "server" }, box(one.name, one.state !== "off", t("Use the server {name}", { name: visibleLine(one.name) })), h("div", {}, h("span", { class: "name" }, visibleLine(one.name)), h("div", { class: "where" }, visibleLine(one.shown)), fold), says);
  });
  const about = rows.length ? "" : t("None is configured. Add one with");
  const none = !rows.length && h("p", {}, about, " ", h("code", {}, "callblocks mcp add"), ".");
  return part("mcp", t("MCP servers"), "", rows.length ? h("ul", { class: "list" }, ...rows) : none);
}

function lookPart() {
  const theme = choices("theme", t("Theme"), { system: t("System"), light: t("Light"), dark: t("Dark") }, current(), choose);
  const names = Object.fromEntries(Object.entries(LANGUAGES).map(([id, { name }]) => [id, name]));
  const words = choices("language", t("Language"), names, language, (chosen) => {
    keep("language", chosen === "en" ? undefined : chosen, "browser");
    location.reload();
  });
  const isOn = kept("notify", false, "browser") && globalThis.Notification?.permission === "granted";
  const box = h("input", { type: "checkbox", checked: isOn, id: "notify" });
  box.addEventListener("change", async () => {
    const isAllowed = box.checked && (await globalThis.Notification?.requestPermission()) === "granted";
    box.checked = isAllowed;
    keep("notify", isAllowed || undefined, "browser");
  });
  const note = h("div", { class: "form plain" }, h("span", { class: "label" }, t("Notification")), h("label", { class: "check" }, box, t("when a call waits for me, while this page is not in front")));
  return part("look", t("Look"), t("In this browser only."), theme, words, note);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Record<string, string>} options
 * @param {string} chosen
 * @param {(value: string) => void} choice
 */
function choices(name, label, options, chosen, choice) {
  const inputs = Object.entries(options).map(([value, words]) =>
    h("label", {}, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choice(value) }), words),
  );
  return h("div", { class: "form plain" }, h("span", { class: "label", id: `l-${name}` }, label), h("div", {}, h("fieldset", { class: "choice", "aria-labelledby": `l-${name}` }, ...inputs)));
}

/**
 * What a part needs; the others are shown all the same where it cannot be had.
 * @template T
 * @param {Promise<T>} asked
 * @param {T} otherwise
 */
async function had(asked, otherwise) {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    setText(byId("status"), error.message);
    return otherwise;
  }
}

async function open() {
  setText(byId("title"), t("Settings"));
  mountShell({ page: "settings" });
  const [{ models }, { tools }, verdicts, mcp] = await Promise.all([
    had(getJson("/api/models"), { models: [] }),
    had(getJson("/api/tools"), { tools: [] }),
    had(getJson("/api/tools/verdicts"), { tools: [] }),
    had(getJson("/api/mcp"), { servers: [] }),
  ]);
  const list = h("ul", { class: "list" }, ...models.map((/** @type {Model} */ one) => modelRow(one)));
  const about = t("Those of the server’s config file. Keys are named there, and never shown here.");
  const parts = [part("models", t("Models"), about, list), toolsPart(tools, verdicts.tools), mcpPart(mcp.servers), lookPart()];
  const toc = h("nav", { class: "toc", "aria-label": t("Sections") }, ...parts.map((one) => h("a", { class: "row", href: `#${one.id}` }, h("span", {}, one.querySelector("h2")?.textContent ?? ""))));
  byId("sheet").replaceChildren(toc, h("div", {}, ...parts));
}

open();
