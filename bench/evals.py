"""An evaluation against an instant endpoint: what callblocks itself takes.

    python -m bench.evals                         80 tasks in six dialects, an instant server
    python -m bench.evals --model smollm2         a small real model, into docs/evals/
    python -m bench.evals --model qwen            a larger one; 1.1 GB are downloaded once

The instant server is on loopback. What is measured there is the sessions, the timelines, the parser
and the HTTP client. A real model runs in llama.cpp's own server, and needs `.[llm]`; a run that was
broken off goes on in the folder `--out`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter, process_time

import msgspec

from bench.timing import print_table
from callblocks import EndpointSettings, open_model
from callblocks.evals.report import Report, make_report, read_report, report_sections, times
from callblocks.evals.runner import Conditions, Evaluation
from callblocks.evals.task import CLASSES, builtin_tasks
from callblocks.evals.trials import Setup, read_trials
from callblocks.views.report_sections import report_page

__all__ = ("main",)

sys.path.append(str(Path(__file__).parents[1] / "tests"))

PAGES = Path(__file__).parents[1] / "docs" / "evals"
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
    """Measure callblocks itself, or a real model."""
    options = argparse.ArgumentParser(prog="python -m bench.evals")
    options.add_argument("--model", choices=REAL)
    options.add_argument("--out", default="")
    given = options.parse_args()
    if given.model:
        _real(given.model, given.out or str(Path(tempfile.gettempdir()) / f"eval-{given.model}"))
    else:
        _instant()


REAL = {
    "smollm2": (
        "SmolLM2-135M-Instruct",
        ("generic_json", "generic_json + grammar", "emoji-bracket", "emoji-bracket + grammar"),
        ("--limit", "3", "--max-tokens", "96"),
    ),
    "qwen": (
        "qwen2.5-coder-1.5b-instruct",
        ("hermes", "hermes + grammar", "tool-fence", "emoji-bracket", "native"),
        ("--limit", "2", "--max-tokens", "160", "--seconds", "900"),
    ),
}
"""Each model's name, the setups it is tried in, and how much of the tasks."""
# Prompts of thousands of tokens take a small machine minutes each.
_SLOW = ("many-tools", "long-context")


def _real(model: str, out: str) -> None:
    """Evaluate a real model with a few tasks of each class, and keep its report."""
    from callblocks.models.llama import smollm2_path
    from support.llama_server import llama_server
    from support.qwen_weights import qwen_weights

    name, setups, limits = REAL[model]
    weights = smollm2_path() if model == "smollm2" else qwen_weights()
    chosen = [part for kind in CLASSES if kind not in _SLOW for part in ("--class", kind)]
    chosen += [part for setup in setups for part in ("--setup", setup)]
    with llama_server(weights, name) as address:
        command = [sys.executable, "-m", "callblocks", "eval", "-m", f"{address}/v1#{name}"]
        options = [*limits, "-j", "1", "--temperature", "0", "--out", out]
        subprocess.run([*command, *chosen, *options], check=True)
    _keep(read_report(Path(out) / "report.json"), model)


def _keep(report: Report, model: str) -> None:
    """Write a report into docs/: without links, because the timelines stay where they are."""
    PAGES.mkdir(exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(report), indent=1)
    (PAGES / f"{model}.json").write_bytes(content + b"\n")
    about = f"{report.tasks} tasks, {len(report.setups)} setups, {times(report.repeats)} each"
    page = report_page(f"How {report.model} calls tools", about, report_sections(report))
    (PAGES / f"{model}.html").write_text(page, "utf-8")


def _instant() -> None:
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
