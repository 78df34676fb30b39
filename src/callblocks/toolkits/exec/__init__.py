"""Exec: code that runs in the sandbox under a contract.

A call names the files that its code will make. The code runs on a copy of the turn's folder;
afterwards exactly those files are copied out, also if the code failed. Everything else that it
wrote is discarded with the sandbox.

    tools.py      the two tools and their limits
    contract.py   the list of promised files, checked before anything runs
    places.py     the folder that the code sees, for a turn or a workspace
    running.py    one run, from the job to the result

Start with running.py. May import: tools, runtime, timeline, and toolkits.terminal for
`require_found`.
"""
