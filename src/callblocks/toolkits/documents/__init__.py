"""Documents from Markdown and HTML: PDF, PNG, DOCX, PPTX and XLSX.

document_tools.py has the tools; write_document.py takes a call to a file; rendering happens in a
process apart (render_program.py) that speaks render_protocol.py. One module writes each format.
"""
