"""Files below one root, and never beside it.

root.py is the workspace; open_below.py opens paths without following links; pins.py makes a call
use the file that the policy judged; protected.py lists what no call writes; origins.py knows which
files hold text of others. Start with root.py. May import: core, tools, policy.
"""
