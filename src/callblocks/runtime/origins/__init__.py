"""Origins: which stored things hold text of others, so that reading them again taints the turn.

A call that runs in a tainted turn, or that brought text of others itself, leaves a mark on all that
it stores: files of the workspace, tasks, names in the search index. The mark is on disk before the
effect (marks.py), in the workspace itself, so it holds for every program that works there. Stores
look for marks whenever a call reads (origins.py); no tool does that by itself.

Start with origins.py. May import: model, tools, runtime.files (without its root), runtime.policy.
"""
