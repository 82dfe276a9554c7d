"""fathoms: document-RAG pipelines over PDFs, measured end to end."""

__version__ = "0.1.0"
