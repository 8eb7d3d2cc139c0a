"""Tests skip by one rule: loudly, and never on CI."""

import os

import pytest


def skip(why):
    """Skips a test. With CI=true everything must be there, and this fails instead."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"may not be skipped on CI: {why}")
    pytest.skip(why)
