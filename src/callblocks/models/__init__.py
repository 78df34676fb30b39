"""Language models: what they are asked, and their text as it arrives.

model.py is the contract; open_model.py makes a model from one word or address; model_config.py
reads the config file; openai/ speaks to HTTP servers; llama.py runs weights in this process;
scripted.py plays transcripts. Start with model.py. May import: core, parsing.
"""
