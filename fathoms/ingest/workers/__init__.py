"""Child processes that read, render or cut PDFs, so that a bad file cannot harm the parent."""
