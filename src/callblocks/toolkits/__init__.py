"""The tools that come with callblocks.

Each kit is a module or a package that returns a tuple of `Tool`s for one workspace, one client or
one turn. `standard.py` lists the kits that work in a workspace, `turn_tools.py` those that work in
one turn of a timeline. Kits are imported when one of their tools is first requested.

Start with files.py, the simplest kit. May import: model, tools, runtime, timeline.
"""
