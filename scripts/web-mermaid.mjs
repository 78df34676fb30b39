/**
 * Make web/vendor/mermaid.js anew: node scripts/web-mermaid.mjs FOLDER
 *
 * FOLDER has `node_modules/` with mermaid and esbuild (`npm install mermaid@VERSION esbuild`). Of mermaid's
 * own modules those are taken that draw the diagrams named below; what they would load for others
 * (layouts by cytoscape and elk, KaTeX, diagrams whose parser is Langium) is left out, and such a
 * diagram stays its source. Nothing of what is taken is changed.
 */

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";

const folder = process.argv[2] ?? ".";
const from = createRequire(`${folder}/package.json`);
const { build } = from("esbuild");
const DIAGRAMS = "flow sequence class state er gantt journey timeline xychart quadrant";
const KEPT = new RegExp(`/(dagre|${DIAGRAMS.replaceAll(" ", "|")})(Diagram|-|-definition)`);
const LEFT_OUT = /^(katex|cytoscape.*|d3-sankey|elkjs.*|@upsetjs.*)$/;
const SAYS = "throw new Error('diagrams of this kind are not drawn here');";

const leaveOut = {
  name: "leave out",
  setup(/** @type {any} */ bundle) {
    bundle.onResolve({ filter: /.*/ }, ({ kind, path }) =>
      (kind === "dynamic-import" && !KEPT.test(path)) || LEFT_OUT.test(path) ? { path, namespace: "none" } : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: SAYS }));
  },
};
const entry = "import mermaid from './node_modules/mermaid/dist/mermaid.core.mjs'; globalThis.mermaid = mermaid;";
const { version, license } = JSON.parse(readFileSync(`${folder}/node_modules/mermaid/package.json`, "utf8"));
const { outputFiles } = await build({
  stdin: { contents: entry, resolveDir: folder },
  ...{ bundle: true, minify: true, format: "iife", target: "es2022", legalComments: "none", write: false },
  plugins: [leaveOut],
  logLevel: "error",
});
const head = `/* mermaid ${version}, ${license} (LICENSES), made by scripts/web-mermaid.mjs: ${DIAGRAMS}. */\n`;
writeFileSync(new URL("../web/vendor/mermaid.js", import.meta.url), head + outputFiles[0].text);
