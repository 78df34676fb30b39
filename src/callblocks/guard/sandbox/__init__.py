"""Commands and code of models, run apart from the machine with limits that hold.

choose.py picks bubblewrap, else Landlock, else none. job.py runs one job: inputs.py and
tar_streams.py bring its files in and out, launcher.py starts and guards it, seccomp.py filters its
system calls, cgroups.py limits what it uses. Start with sandbox.py. May import: core.
"""
