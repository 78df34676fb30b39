/** The little of highlight.js that `src/rich.js` reads. */
export type Scoped = { scope?: string; children: (Scoped | string)[] };
declare const highlighter: {
  getLanguage(name: string): { name: string } | undefined;
  highlight(
    code: string,
    options: { language: string; ignoreIllegals: boolean },
  ): { _emitter: { rootNode: Scoped } };
};
export default highlighter;
