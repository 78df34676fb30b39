"""Search in the files of a workspace, by an index of their words.

`toolkits.search_tools` has the tools; find_passages.py answers a query; refresh.py
brings files into index.py; files of others are read in a process apart (reader_process.py,
reader_program.py).
"""
