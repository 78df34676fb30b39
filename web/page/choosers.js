/**
 * Which dialect, model and scenario the next turn has.
 *
 *     const choosers = new Choosers(row, {picked: (scenario) => …});
 *     await choosers.load();     choosers.choice()     {dialect: "tool-fence"}
 *
 * What is as the server has it is not sent. A chooser with one choice is not shown. Dialect and
 * model are remembered by the browser; a scenario holds for the tab: it answers whatever is said.
 */

import { h } from "../src/dom.js";
import { getJson } from "./api.js";
import { keep, kept } from "./keep.js";

/** @typedef {{name: string, title: string, prompt: string}} Scenario */
/** @typedef {{name: string, is_used?: boolean, dialect?: string, taught?: string, suggestions?: string[], scenarios?: Scenario[]}} Model */
/** @typedef {{value: string, words: string}} Option */
/** @typedef {{label: string, where: "tab" | "browser"}} Kind */

/** @type {Record<string, Kind>} */
const KINDS = {
  dialect: { label: "Dialect", where: "browser" },
  model: { label: "Model", where: "browser" },
  scenario: { label: "Scenario", where: "tab" },
};

/** The choosers in the composer. */
export class Choosers {
  /**
   * @param {HTMLElement} row they are put before its last child
   * @param {{picked?: (scenario: Scenario) => void}} [told]
   */
  constructor(row, { picked } = {}) {
    this._picked = picked;
    /** @type {Model[]} */
    this.models = [];
    /** @type {Model | undefined} */
    this._usual = undefined;
    /** @type {Option[]} */
    this._dialects = [];
    this._isTeam = false;
    /** @type {Map<string, {label: HTMLLabelElement, select: HTMLSelectElement, usual: string}>} */
    this._choosers = new Map();
    for (const name of Object.keys(KINDS)) this._add(row, name);
  }

  /** Ask what there is to choose from. */
  async load() {
    const [{ dialects }, models] = await Promise.all([getJson("/api/dialects"), getJson("/api/models")]);
    this.models = models.models;
    const used = this.models.filter((one) => one.is_used);
    // The members of a team have their own models and dialects.
    this._isTeam = models.team;
    this._dialects = dialectOptions(dialects);
    this._usual = used[0] ?? this.models[0];
    const names = this.models.map(({ name }) => ({ value: name, words: name }));
    this._fill("model", names, this._usual?.name ?? "");
    this._fillRest();
  }

  /** The model that is chosen. */
  get model() {
    const name = this._choosers.get("model")?.select.value;
    return this.models.find((one) => one.name === name) ?? this._usual;
  }

  /** The scenarios of the model that is chosen. */
  get scenarios() {
    const { model } = this;
    if (model?.scenarios?.length) return model.scenarios;
    return (model?.suggestions ?? []).map((prompt) => ({ name: "", title: "", prompt }));
  }

  /** What a message says of it. */
  choice() {
    /** @type {Record<string, string>} */
    const choice = {};
    for (const [name, { label, select, usual }] of this._choosers) {
      if (!label.hidden && select.value && select.value !== usual) choice[name] = select.value;
    }
    return choice;
  }

  /**
   * @param {HTMLElement} row
   * @param {string} name
   */
  _add(row, name) {
    const { label: words, where } = /** @type {Kind} */ (KINDS[name]);
    const select = h("select", { name });
    const label = h("label", { class: "pick" }, h("span", {}, words), select);
    label.hidden = true;
    select.addEventListener("change", () => {
      keep(name, select.value || undefined, where);
      this._chosen(name, select.value);
    });
    row.insertBefore(label, row.lastElementChild);
    this._choosers.set(name, { label, select, usual: "" });
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  _chosen(name, value) {
    if (name === "model") this._fillRest();
    const scenario = name === "scenario" && this.scenarios.find((one) => one.name === value);
    if (scenario) this._picked?.(scenario);
  }

  /**
   * @param {string} name
   * @param {Option[]} options
   * @param {string} usual
   */
  _fill(name, options, usual) {
    const chooser = this._choosers.get(name);
    if (!chooser) return;
    const { label, select } = chooser;
    chooser.usual = usual;
    select.replaceChildren(...options.map(({ value, words }) => h("option", { value }, words)));
    const before = kept(name, usual, KINDS[name]?.where);
    select.value = options.some(({ value }) => value === before) ? before : usual;
    label.hidden = options.length < 2 || this._isTeam;
  }

  /** The dialects and scenarios of the model. */
  _fillRest() {
    const taught = this.model?.taught;
    const by = (/** @type {Option} */ one) => (one.value === "auto" && taught ? { ...one, words: `auto (${taught})` } : one);
    this._fill("dialect", this._dialects.map(by), this.model?.dialect ?? "auto");
    const named = this.scenarios.filter((one) => one.name);
    const options = named.map(({ name, title }) => ({ value: name, words: title || name }));
    this._fill("scenario", options.length ? [{ value: "", words: "by message" }, ...options] : [], "");
  }
}

/**
 * The dialects that a model can be taught, and `auto`, which reads them all.
 * @param {{name: string, is_taught?: boolean}[]} dialects
 * @returns {Option[]}
 */
function dialectOptions(dialects) {
  const taught = dialects.filter((one) => one.is_taught !== false && one.name !== "auto");
  return ["auto", ...taught.map(({ name }) => name)].map((name) => ({ value: name, words: name }));
}
