"""`python -P -m callblocks`: the same as the command `callblocks`.

Without `-P` Python looks for modules in the current folder first, which is where a model may
write: it is taken away before all else is imported.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from callblocks.cli.main import main

main()
