"""Runs as plain data, as the tests of reports have them."""

from tests.report.conftest import paper_runs as paper_runs
from tests.report.conftest import run_dir as run_dir
from tests.report.conftest import small_run as small_run
