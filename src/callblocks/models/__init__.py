"""Language models: requests to them, and their text as it arrives.

`model` is the protocol: messages in, pieces out. `chat_endpoint` and `completion_endpoint` speak to
OpenAI-compatible servers (`http_stream` for bytes, `event_lines` for server-sent events,
`reply_reader` for pieces, `native_calls` for tool calls). `local` runs weights in this process,
`scripted` plays transcripts. `opening` turns a text such as `ollama:qwen3` into a model, `config`
reads the config file.

Start with model.py. May import: model.
"""
