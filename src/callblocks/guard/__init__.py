"""Guards that keep hostile input in its place.

    files/    every path stays below one root, links included; text of others keeps its mark
    net/      HTTP to public addresses only
    sandbox/  commands and code apart from the machine: bubblewrap or Landlock, seccomp, cgroups
    workers/  processes and threads that can be ended, and a fair share of them for each user

Whatever is not sure says no. May import: core, tools, policy.
"""
