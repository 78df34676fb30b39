"""Commands and code of models, run apart from the machine with limits that hold.

sandbox.py is the contract of a sandbox, and picks bubblewrap, else Landlock, else none. job.py
supervises one job: inputs.py and tar_streams.py bring its files in and out, launcher.py starts and
guards it, seccomp.py filters its system calls, cgroups.py limits what it uses. landlock.py also
locks a process of ours in. Start with sandbox.py. May import: core.
"""
