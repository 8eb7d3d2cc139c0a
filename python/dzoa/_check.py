"""Bad values are refused by name, in one line."""

from __future__ import annotations

import math
import numbers
from typing import Any


def number(name: str, value: Any, *, low: float = 0.0, strict: bool = True, high: float | None = None) -> float:
    """A finite number above (or at least) ``low``, and at most (strictly below, if strict) ``high``."""
    wanted = f"a finite number {'above' if strict else 'of at least'} {low:g}"
    if high is not None:
        wanted += f" and {'below' if strict else 'at most'} {high:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}, not {value!r}")
    result = float(value)
    inside = math.isfinite(result) and (result > low if strict else result >= low)
    if inside and high is not None:
        inside = result < high if strict else result <= high
    if not inside:
        raise ValueError(f"{name} must be {wanted}, not {value!r}")
    return result


def optional_number(name: str, value: Any, **limits: Any) -> float | None:
    return None if value is None else number(name, value, **limits)


def count(name: str, value: Any, *, low: int = 1) -> int:
    """A whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number of at least {low}, not {value!r}")
    if int(value) < low:
        raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")
    return int(value)


def optional_count(name: str, value: Any, *, low: int = 1) -> int | None:
    return None if value is None else count(name, value, low=low)


def seed(name: str, value: Any) -> int | None:
    if value is None:
        return None
    result = count(name, value, low=0)
    if result >= 2**64:
        raise ValueError(f"{name} must be below 2**64, not {value!r}")
    return result
