"""Models behind OpenAI-compatible servers.

endpoints.py asks for chats and completions; reply_stream.py reads the reply as server-sent
events; reply_reader.py turns chunks into pieces and native calls; endpoint_faults.py turns errors
of servers into advice. Start with endpoints.py. May import: core, models.model.
"""
