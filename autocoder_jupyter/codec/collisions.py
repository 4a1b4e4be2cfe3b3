"""Check the keys of a set or dict before it is built from a stranger's values."""

from __future__ import annotations

from typing import Any

from .errors import Corrupt

MOST_COLLISIONS = 1_000
"""Most keys of one set or dict that have the hash of another key."""


def without_collisions(keys: list[Any]) -> list[Any]:
    """Return `keys` if few of them have the same hash.

    Keys with the same hash are compared with each other, which takes quadratic time. The hash of a number is the
    number modulo a prime, and that of a tuple follows from its items, so hostile code can easily make such keys.
    The hash of a text
    is random. Every reader of sets, and of dicts whose keys are not all texts, calls this before it builds one.

    Raises:
        Corrupt: more than `MOST_COLLISIONS` keys have the hash of another key.
    """
    if len(keys) > MOST_COLLISIONS and len(keys) - len(set(map(hash, keys))) > MOST_COLLISIONS:
        raise Corrupt("keys that collide")
    return keys
