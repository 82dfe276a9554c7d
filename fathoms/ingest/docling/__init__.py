"""The Docling parser: its options, its worker processes, and the export of Docling documents."""
