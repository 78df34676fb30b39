"""The runtime: calls become outcomes under a policy.

A call passes `taken_call` (checked input), `gate` (policy and approval), `running` (journal, tool,
redaction, limits) and leaves as one outcome. `policy` decides, `approvals` stores a person's
answers, `files`, `net` and `sandbox` confine what a tool can reach, and `origins` tracks text of
others.

Start with runtime.py, then gate.py.
"""
