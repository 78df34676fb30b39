"""Policies: which calls may run, by rules in a file or as values; the first match decides.

`facts` collects what is known of a call, `rules` matches it, `policy` decides. `policy_file` reads
and writes TOML. `check_policy` finds rules that cannot work, `explain` shows how a decision came
about, and `taints` says for which calls text of others counts.

Start with policy.py, then rules.py. Nothing here asks a person or runs a call.
"""
