"""Model weights on this machine: where they come from, their checksums, and how they are loaded."""
