/** The little of DOMPurify that `src/markdown.js` calls. */
interface Purify {
  sanitize(
    dirty: string,
    config: { RETURN_DOM_FRAGMENT: true; [option: string]: unknown },
  ): DocumentFragment;
  isSupported?: boolean;
}
declare const purify: Purify;
export default purify;
