"""Sessions: one conversation with a model that calls tools.

A turn begins with a prompt and ends with an answer, a limit or a failure. In between the session
asks the model (speaker.py, talk.py, dialogue.py), reads the reply (reply.py), runs the calls
(`callblocks.runtime`) and writes each step to the timeline before it takes the next one
(turn_writing.py). A session keeps no state that the timeline lacks, so another process can resume
an interrupted turn (turn_taking.py, interrupted.py, left_calls.py). host.py opens the stores that
all sessions of one program share. team*.py let several models answer one prompt.

Start with session.py, then turn_run.py. May import: views, toolkits and everything below them.
"""
