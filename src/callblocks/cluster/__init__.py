"""Turns on many machines: replicas take prompts, workers run turns, PostgreSQL holds everything.

A replica writes a turn into the table (turn_table.py) and hands its number to an engine, which
decides which worker runs it and when (turns.py has the interface, dbos_engine.py the engine). The
worker (worker.py) claims the turn, which raises its fence, runs it as a session does, and publishes
its events. Workers watch each other: the turns of one that is gone go to others. Processes wake
each other by ids alone, and followers read the events of a turn (wakeups.py). Approvals and the
journal are in the database too (shared_state.py).

Start with worker.py. May import: session and what stands below it.
"""
