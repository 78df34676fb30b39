"""Reading again and hiding of blocks by a model, on its own timeline.

lookup.py resolves a path to blocks; read.py brings them back and hides them; skills.py serves
instructions by name. Start with read.py. May import: core, timeline.
"""
