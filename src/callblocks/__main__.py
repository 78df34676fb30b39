"""`python -m callblocks`: the same as the command `callblocks`."""

from callblocks.cli.main import main

main()
