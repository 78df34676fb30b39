"""Files below one root, and never beside it.

root.py is the workspace, and makes a call use the files that the policy judged; real_path.py
resolves paths and opens them without following links; replace_file.py writes whole files, and lists
what no call writes; origins.py knows which files hold text of others. Start with root.py. May
import: core, tools, policy.
"""
