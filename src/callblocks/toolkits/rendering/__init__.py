"""Documents from Markdown and HTML: PDF, PNG, DOCX, PPTX and XLSX."""
