"""Human review of scores: drawing the sample of answers, showing an answer, and computing the agreement."""
