"""What a model reads again and hides on its own timeline.

lookup.py resolves a path to blocks; read.py brings them back and hides them; skills.py serves
instructions by name. Start with read.py. May import: core, timeline.
"""
