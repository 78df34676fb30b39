"""The command `callblocks`: arguments and text in, views out.

main.py lists the commands, each imported when it is called; commands/ has a module for each;
options/ are shared options; terminal/ reads and writes; chat/ is the conversation in a terminal.
Start with main.py. May import: everything.
"""
