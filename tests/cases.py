"""Many cases in one test: each case that fails is named, and the cases after it are tried all the same."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr

FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)  # a skip would hide the cases after it


def each(names: Any, cases: Iterable[Any], ids: Any = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, in one test. `tmp_path` and `monkeypatch` are new for each case."""
    keys = names.replace(",", " ").split() if isinstance(names, str) else [*names]
    rows = [
        one if isinstance(one, type(pytest.param())) else pytest.param(*one if keys[1:] else [one]) for one in cases
    ]
    labels = [row.id for row in rows] if ids is None or callable(ids) else [*ids]

    def fold(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**given: Any) -> None:
            assert rows, f"there are no cases of {names}"
            failed: dict[str, BaseException] = {}
            for number, row in enumerate(rows):
                try:
                    with pytest.MonkeyPatch.context() as monkeypatch:
                        new: dict[str, Any] = {"monkeypatch": monkeypatch}
                        if "tmp_path" in given:
                            new["tmp_path"] = given["tmp_path"] / str(number)
                            new["tmp_path"].mkdir()
                        mine = {name: new.get(name, value) for name, value in given.items()}
                        test(**mine, **dict(zip(keys, row.values, strict=True)))
                except FAILURES as error:
                    if str(error).startswith("Timeout (>"):  # of pytest-timeout, whose alarm rings once
                        raise
                    label = labels[number] or " ".join(saferepr(row.values, 80).split())
                    failed[f"case {number} ({label})"] = error
            if failed:
                said = "\n".join(f"{label}: {error}" for label, error in failed.items())
                raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} cases failed: {said}", [*failed.values()])

        parameters = inspect.signature(test).parameters.values()
        loop.__signature__ = inspect.Signature([one for one in parameters if one.name not in keys])  # type: ignore
        return loop

    return fold
