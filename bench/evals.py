"""An evaluation against an instant endpoint: what callblocks itself takes.

    python -m bench.evals

Eighty tasks in six dialects, against a server on loopback that answers at once. What is measured is
the sessions, the timelines, the parser and the HTTP client; a real model takes minutes.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter, process_time

from bench.timing import print_table
from callblocks import EndpointSettings, open_model
from callblocks.evals.report import make_report
from callblocks.evals.run import Conditions, Evaluation, Setup, read_trials
from callblocks.evals.task import builtin_tasks

__all__ = ("main",)

TASKS, LIMIT = 80, 60.0
DIALECTS = ("hermes", "generic_json", "tool-fence", "emoji-bracket", "pythonic", "qwen3_coder")
_CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"Well. I cannot do that."}}]}\n\n'
_REPLY = _CHUNK + (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":100,"completion_tokens":8}}\n\ndata: [DONE]\n\n'
)


class _Instant(BaseHTTPRequestHandler):
    """Answers each request with the same reply."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(_REPLY)))
        self.end_headers()
        self.wfile.write(_REPLY)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def _server() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Instant)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1#instant"
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Print the seconds of the run; more than a minute of them ends the program with 1."""
    tasks = builtin_tasks()[:TASKS]
    setups = [Setup(dialect=name) for name in DIALECTS]
    with tempfile.TemporaryDirectory() as folder, _server() as address:
        text = EndpointSettings(mode="text")
        evaluation = Evaluation(
            tasks, setups, lambda _: open_model(address, text), folder, Conditions(jobs=4)
        )
        began, used = perf_counter(), process_time()
        trials = asyncio.run(evaluation.run())
        wall, processor = perf_counter() - began, process_time() - used
        report = make_report(read_trials(f"{folder}/trials.jsonl")[0], trials)
    assert report.missing == 0
    assert not any("endpoint" in one.states or "fault" in one.states for one in report.setups)
    rows = [[f"{len(trials)} trials", f"{wall:.1f}", f"{processor:.1f}"]]
    head = ["", "wall s", "processor s"]
    print_table(f"{len(tasks)} tasks in {len(setups)} dialects, an instant endpoint", head, rows)
    if processor > LIMIT:
        sys.exit(f"it took more than {LIMIT:.0f} s")


if __name__ == "__main__":
    main()
