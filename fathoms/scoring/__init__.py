"""Scoring a run on disk. Needs only the run directory, not what produced it.

score_run(run)      # writes the question files, the verdicts and the summary; returns the summary
"""

from fathoms.scoring.measures import read_scoring
from fathoms.scoring.run import score_run
from fathoms.scoring.shares import VERDICTS
from fathoms.scoring.verdicts import judged_by

__all__ = ["VERDICTS", "judged_by", "read_scoring", "score_run"]
