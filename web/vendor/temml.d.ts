/** The little of Temml that `src/rich.js` reads: a formula as a tree, which is not markup yet. */
export type MathTree = {
  type?: string;
  text?: string;
  attributes?: Record<string, unknown>;
  children?: MathTree[];
  classes?: string[];
  style?: Record<string, string>;
};
declare const temml: {
  __renderToMathMLTree(source: string, options: Record<string, unknown>): MathTree;
};
export { temml as default };
