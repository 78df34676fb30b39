"""A turn, from what the person says to the answer.

session.py takes one turn after another on one timeline; turn.py asks the model, runs its calls and
goes on until it answers; prompt.py writes what the model is sent, in its own dialect; reply.py
reads what it writes; host.py holds what all conversations of one program share; team.py lets
several members answer. Start with turn.py. May import: everything but server and cli.
"""
