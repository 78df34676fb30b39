"""Evaluation: how well a model calls tools, in which dialect, with which prompt, on this machine.

A task is a prompt, tools and a check that a program does (task.py; predicate.py has right arguments
as forms); those that come with callblocks are data in `tasks/`. A setup is a dialect, with a
grammar or without, or native calls. Each task is run in each setup as a turn of a session, with a
timeline of its own (runner.py), and kept as a line of a file (trials.py). The trials become shares
with confidence intervals and a verdict that says which setups cannot be told apart (report.py).
formats.py reads the tasks of others.

Start with task.py. May import: session, models, timeline, views.
"""
