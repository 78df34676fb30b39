"""A process that takes work and never answers: `python -m support.silent_worker`."""

from __future__ import annotations

import signal

if __name__ == "__main__":
    signal.pause()
