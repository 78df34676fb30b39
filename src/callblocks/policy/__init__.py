"""The policy: which calls run, which are asked, which are refused.

rules.py has the facts of a call and the rules that match them, policy.py decides by the first match
and reads policy files, lint.py finds rules that can never match and explains decisions. Nothing
here runs a call. Start with policy.py. May import: core, tools.
"""
