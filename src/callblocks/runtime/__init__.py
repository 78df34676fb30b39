"""Calls become outcomes.

runtime.py orders the calls of a turn; checked_call.py makes the one checked input; gate.py is the
door that each call passes (policy, taint, approval_gate.py); run_call.py runs the function, keeps
its limits and the journal. Start with gate.py. May import: core, tools, policy, approvals, guard.
"""
