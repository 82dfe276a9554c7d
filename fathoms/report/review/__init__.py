"""What people say about the scores: which answers they see, how one is shown, and how far they agree."""
