"""Work that can be ended: processes, threads, and a fair share of both.

worker_process.py is the one protocol with a process apart; isolated_program.py runs a tool in such
a process; threads.py runs blocking functions beside the event loop, and shares a limited number of
places among users. May import: core, tools.
"""
