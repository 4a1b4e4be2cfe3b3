"""Typosquatting: package names that are one typing error away from a well-known package.

`pandsa`, `requets`, `matplotib` are mistyped names of well-known packages. Attackers register such names.
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from autocoder_jupyter.engine.known_packages import KNOWN_DISTRIBUTIONS
from autocoder_jupyter.errors import InvalidRequest

_SHORTEST = 5
"""Minimum length of a name. Too many real packages have similar shorter names."""

_OFTEN_MEANT = """
boto3 catboost django fastapi flask httpx ipython jupyterlab keras langchain modin openai optuna papermill pymongo
pyspark redis scrapy selenium streamlit tensorflow torch torchvision transformers
"""
"""Also well known, but too large or too unrelated to data to be installed without asking."""

_REAL = "boto cchardet dataset markdown2 parse pyaml pycryptodomex pypdf2 pyxlsb2 simpy toml"
"""Real packages, although their names differ by one letter from another."""

_WELL_KNOWN = KNOWN_DISTRIBUTIONS | frozenset(_OFTEN_MEANT.split())


def likely_meant(name: str) -> str:
    """The well-known distribution whose name differs by one typing error; "" if there is none.

    A typing error is one letter too many, one missing, one replaced, or two adjacent ones swapped.
    """
    wanted = canonicalize_name(name)
    if wanted in _WELL_KNOWN or wanted in _REAL.split():
        return ""
    return min((known for known in _WELL_KNOWN if len(known) >= _SHORTEST and _one_slip(wanted, known)), default="")


def refuse_lookalikes(requirements: Iterable[str]) -> None:
    """Refuse names that the user mistyped. A name with an exact version is accepted: the user has looked it up.

    Raises:
        InvalidRequest: a requirement is one typing error away from a well-known name.
    """
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        pinned = any(part.operator == "==" and "*" not in part.version for part in requirement.specifier)
        if not pinned and (meant := likely_meant(requirement.name)):
            raise InvalidRequest(
                f"{requirement.name!r} is not a well-known package, but its name is close to one.",
                why="Attackers register such names for people who mistype the real one.",
                hint=f"Did you mean {meant!r}? To install {requirement.name!r}, give its exact version.",
            )


def _one_slip(word: str, known: str) -> bool:
    if abs(len(word) - len(known)) > 1 or word == known:
        return False
    start = next((place for place, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), None)
    if start is None:
        return True  # one name has one more letter than the other
    left, right = word[start:], known[start:]
    swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]
