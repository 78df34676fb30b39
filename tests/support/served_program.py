"""A server in a process of its own, to be killed: `python -m support.served_program FOLDER`.

It prints its address. The tool `hang` writes `hangs` into the folder, and does not come back
before `free` is there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from callblocks.server.app import serve
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.chat_server import Noted, Talker, settings_of
from support.scripted_sessions import ASK_ALL, some_host


def main(folder: Path) -> None:
    @tool
    def hang() -> str:
        """Do something that takes long."""
        with (folder / "hangs").open("a") as file:
            file.write("x")
        while not (folder / "free").exists():
            time.sleep(0.005)
        return "done"

    tools = Registry([hang, *Noted(folder / "notes").registry().tools])
    serve(
        settings_of(grace=0.1, sdk_version=6),
        lambda: some_host(folder, Talker(), tools=tools, policy=ASK_ALL),
        lambda address: print(address, flush=True),  # noqa: T201 the test reads it
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
