"""llama.cpp's own server, until its input ends: `python -m support.llama_program FILE.gguf NAME`.

Says its address. It cannot be stopped from within a program, so it has one of its own. It has a
thread for each core, or as many as `LLAMA_THREADS` says; idle ones sleep, so that tests go on.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

_CONTEXT = 16_384


def main(file: str, name: str) -> None:
    # It comes with `make test-llm` only, and declares no types.
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.use_jinja = True
    params.verbosity = -1
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = int(os.environ.get("LLAMA_THREADS") or os.cpu_count() or 1)
        threads.poll = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
