"""From PDFs and questions to recorded answers; `pipeline.py` is where a newcomer starts reading."""
