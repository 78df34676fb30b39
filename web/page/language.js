/**
 * The language of the page: the one that was chosen in this browser, else English. To add one: a
 * table beside `words/de.js`, and a line here.
 */

import { speak } from "../src/words.js";
import { kept } from "./keep.js";
import { words as de } from "./words/de.js";

/** @type {Record<string, {name: string, words: Record<string, string>}>} */
export const LANGUAGES = { en: { name: "English", words: {} }, de: { name: "Deutsch", words: de } };

/** The one that is used. */
export const language = ((said) => (Object.hasOwn(LANGUAGES, said) ? said : "en"))(kept("language", "en", "browser"));

speak(LANGUAGES[language]?.words ?? {});
document.documentElement.lang = language;
