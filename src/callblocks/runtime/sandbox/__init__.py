"""Sandboxes: commands and code run isolated from the machine, with enforced limits.

`sandbox` has the values (job, limits, changes), `choose` finds a sandbox that works here,
`bubblewrap` and `landlock` are the two, `launcher` is the program that gives up all rights before
it executes the job. The folder goes in by `survey` and `packing` and comes out by `unpacking` and
`changes`; everything that comes out is hostile.

Start with sandbox.py, then bubblewrap.py and launcher.py.
"""
