"""A conversation in the terminal, and a run that is written down.

chat_loop.py takes prompts and commands; chat_turn.py shows one turn, chat_screen.py the screen
around it; chat_setup.py opens model, tools and session; recording.py writes what `callblocks run`
does on a timeline; demo_folder.py lays out the folder of `callblocks demo`. Start with
chat_loop.py. May import: cli.options.
"""
