"""How many examples hypothesis tries in the full tier, where small things are tried at random."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings


def many_examples(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test of the full tier, of ten thousand examples; it stands above `@given`."""
    return pytest.mark.full(pytest.mark.timeout(900)(settings(max_examples=10_000, deadline=None)(test)))
