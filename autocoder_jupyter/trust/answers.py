"""The questions about functions that the user answered with *keep it as it is*, so that they are not asked again.

Only digests are recorded. A question ends for the same code and the same words, numbers included: with other data or
other code it is asked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from autocoder_jupyter.trust.own_files import OwnRecord, own_folder

MOST = 5_000
"""Answers that are remembered, the newest ones."""


def kept(code: str, questions: Iterable[str]) -> tuple[str, ...]:
    """Those of the questions about a function that the user has answered."""
    known = set(_digests(_record().read().get("kept")))
    return tuple(question for question in questions if _digest(code, question) in known)


def keep(code: str, questions: Iterable[str]) -> None:
    """Remember that the user keeps the function as it is.

    Raises:
        InvalidRequest: the record cannot be written, or a later version of this package wrote it.
    """
    with _record().changed() as record:
        digests = [_digest(code, question) for question in questions]
        others = [one for one in _digests(record.get("kept")) if one not in digests]
        record["kept"] = [*others, *digests][-MOST:]


def _record() -> OwnRecord:
    return OwnRecord(own_folder() / "answers.json", 1, "The record of your answers")


def _digests(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _digest(code: str, question: str) -> str:
    """The length in front keeps code and question apart."""
    return hashlib.sha256(f"{len(code)} {code}{question}".encode("utf-8", "surrogatepass")).hexdigest()
