"""Models behind Anthropic's Messages API.

`messages` has the endpoint, `reply_reader` reads its events. Connections, retries and faults are
those of `callblocks.models.openai`: the two APIs differ in what they say, not in how it arrives.
May import: core, the rest of models.
"""
