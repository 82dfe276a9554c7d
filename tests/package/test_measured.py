"""What is measured for coverage. Without `--cov`, nothing is."""

import os
import sys

import pytest
from coverage import Coverage

from tests.support.measured import measured


def test_only_the_first_case_is_measured_and_no_new_interpreter(request: pytest.FixtureRequest) -> None:
    tracer = sys.gettrace()
    assert (tracer is not None) == (Coverage.current() is not None)
    with measured(request.node):  # as for a second case
        assert sys.gettrace() is None
    assert sys.gettrace() is tracer
    assert not [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]
