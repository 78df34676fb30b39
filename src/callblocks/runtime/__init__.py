"""Calls become outcomes.

judgement.py makes the one checked input; gate.py is the door that each call passes (policy, taint,
a person's approval); runtime.py orders the calls of a turn, runs their functions and keeps their
limits; journal.py records each change before it happens. Start with gate.py. May import: core,
tools, policy, approvals, guard.
"""
