"""A site in a process of its own, to be killed: `python -m support.site_program FOLDER PORT`.

It prints its address.
"""

from __future__ import annotations

import sys
from pathlib import Path

from callblocks.server.app import serve
from support.chat_server import settings_of
from support.site import held_scripts, site_host


def main(folder: Path, port: int) -> None:
    serve(
        settings_of(port=port, grace=0.1, rate=1000.0, burst=5000),
        lambda: site_host(folder, held_scripts(folder)),
        lambda address: print(address, flush=True),  # noqa: T201 the test reads it
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
