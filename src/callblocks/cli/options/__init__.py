"""Options that several commands share, and what they open.

read_options.py: how a text is read; tool_setup.py: the workspace, its tools, and the policy;
chat_options.py: the model and the session; state_folder.py: where callblocks keeps its own files.
Start with read_options.py. May import: cli.terminal and everything below the command line.
"""
