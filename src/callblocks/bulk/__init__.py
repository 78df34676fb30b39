"""Bulk work: convert and audit corpora of transcripts, on one machine or many.

A job is cut into units, which are ranges of files (records.py). One function does a unit and leaves
its result in the output place (work.py); a process pool or a Dask cluster calls it, and what a
killed run has left is taken over (execute.py). Records of JSONL, Parquet and text become texts in
records.py, local folders and `s3://` are one interface in storage.py. What was counted adds up in
tally.py, and is shown by corpus_report.py.

Start with work.py. May import: views, parser, policy, tools.
"""
