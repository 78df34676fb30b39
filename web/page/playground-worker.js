/**
 * The parser itself, in a worker: Python by Pyodide, from the files that `make playground` put
 * beside the page. It answers as the server does.
 *
 *     {id, path: "/api/parse", body: "{…}"}   →   {id, answer: "{…}"} or {id, fault: "…"}
 */

const PLACE = new URL("../../pyodide/", import.meta.url);
// Only the pure loader of YAML is there: it gives the same events, more slowly.
const PROGRAM = `
import msgspec, yaml
yaml.CSafeLoader = yaml.SafeLoader
from callblocks.core.errors import CallerError
from callblocks.dialects import dialects
from callblocks.views.text.parsed_text import parse_text
from callblocks.views.text.rewrite import rewrite

WORK = {
    "/api/parse": parse_text,
    "/api/convert": rewrite,
    "/api/dialects": lambda: {"dialects": [{"name": name} for name in dialects]},
}

def answer(path, body):
    try:
        return True, msgspec.json.encode(WORK[path](**msgspec.json.decode(body))).decode()
    except CallerError as error:
        return False, str(error)
answer
`;

const started = start();

async function start() {
  const { loadPyodide } = await import(new URL("pyodide.mjs", PLACE).href);
  const [python, files] = await Promise.all([loadPyodide({ indexURL: PLACE.href }), fetch(new URL("packages.zip", PLACE))]);
  python.unpackArchive(await files.arrayBuffer(), "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  return python.runPython(PROGRAM);
}

addEventListener("message", async ({ data: { id, path, body } }) => {
  try {
    const [isFine, words] = (await started)(path, body).toJs();
    postMessage(isFine ? { id, answer: words } : { id, fault: words });
  } catch (error) {
    postMessage({ id, fault: `The parser stopped: ${String(error).slice(-300)}` });
  }
});
