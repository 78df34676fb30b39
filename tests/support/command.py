"""The command line, run inside this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from callblocks.cli.main import cli


def run(*args: str, text: str | bytes | None = None) -> Result:
    """Run `callblocks` with arguments, and with text on standard input."""
    runner = CliRunner(env={"NO_COLOR": None, "FORCE_COLOR": None, "TTY_COMPATIBLE": None})
    return runner.invoke(cli, list(args), input=text, prog_name="callblocks", terminal_width=80)
