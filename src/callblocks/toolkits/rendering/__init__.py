"""Rendering: documents from Markdown and HTML as PDF, PNG, DOCX, PPTX and XLSX.

`tools.py` declares the tools, `writing.py` runs one call. The document is made in a locked-down
child process (apart.py, child.py) that speaks the protocol of wire.py. In the child, `reading.py`
parses Markdown once for all writers: pages go through HTML and WeasyPrint (markup.py, layout.py),
the Office formats through a writer each (docx.py, pptx.py, xlsx.py).

Start with wire.py. May import: tools, runtime, timeline, and toolkits.workspace for cell values.
"""
