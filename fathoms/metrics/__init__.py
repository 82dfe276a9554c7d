"""Compute the scores of a run from its records.

    scores = score(records, Scoring(), known)      # every record under `fathoms` and `paper-by-words`
    summarise(records, scores)                     # means per category and overall

`phrase_recall` measures the correctness of an answer, `Cues` or `NearestNeighbour` classifies it as a
statement or an abstention, `hallucination` flags statements that are not fully correct, and `summarise`
averages these scores. All of it is plain arithmetic, except that the abstention classifier may embed text.
A run can be scored again from its records and stored verdicts, without any parser, index or model.
"""
