"""A layout model and a table structure model for Docling that need no download from a model hub."""

HOOKS = {
    "ingest.layout kind 'cdla'": "layout:CdlaLayoutModel",
    "ingest.tables kind 'geometric'": "tables:GeometricTableModel",
}
