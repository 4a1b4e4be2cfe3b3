"""Every text of a report may come from a program, a model or a file of somebody else. None becomes markup."""

from __future__ import annotations

import base64
import datetime as dt
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from autocoder_jupyter.display.inspector.document import render_html, render_text
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.types import Helper, Helpers, Report, SampledDatabase
from tests.display.inspector.results import HOSTILE, subject

LINK = "[a](javascript:alert(1)) http://a.example/x.png"
TEXT = HOSTILE + LINK


def filled(annotation: Any) -> Any:
    """A value of a type with a hostile text wherever a text may stand, so a new field is tested too."""
    arguments, kind = get_args(annotation), get_origin(annotation)
    if kind is typing.Annotated:
        return filled(arguments[0])
    if kind in (typing.Union, types.UnionType):
        return filled(next(each for each in arguments if each is not types.NoneType))
    if kind is Literal:
        return arguments[-1]
    if kind is tuple:
        return tuple(filled(each) for each in arguments if each is not ...)
    if kind in (dict, Mapping):
        return {filled(arguments[0]): filled(arguments[1])}
    if annotation is Helpers:  # its names and hashes have a form that it checks
        helper = Helper(name="net", kind="function", digest="1", signature=TEXT, doc=TEXT)
        return Helpers(given=(helper,), source=TEXT)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        values = {name: filled(field.annotation) for name, field in annotation.model_fields.items()}
        return annotation(**values | ({"name": "shop", "dialect": "duckdb"} if annotation is SampledDatabase else {}))
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    plain: dict[Any, Any] = {bool: True, int: 1, float: 1.0, str: TEXT, Any: TEXT, dt.datetime: now}
    return plain[annotation]


@pytest.fixture(params=["ready", "failed", "over_budget"])
def report(request: pytest.FixtureRequest) -> tuple[Report, Any]:
    nasty: Report = filled(Report)
    return nasty.model_copy(update={"success": request.param == "ready"}), request.param


OURS = re.compile(r'<a download="[^"]*" href="data:text/x-python;base64,([\w+/=]*)"[^<>]*>')
"""A link that saves a source."""


PICTURE = re.compile(r'<img alt="[^"<>]*" src="data:image/svg\+xml;base64,([\w+/=]*)"[^<>]*>')
"""The picture of the results on resamples."""


def require_no_markup(shown: str, read: Callable[..., Any]) -> None:
    page = read(PICTURE.sub("", OURS.sub("<a>", shown)))
    for picture in PICTURE.findall(shown):
        assert read(base64.b64decode(picture).decode()).tags <= {"svg", "path", "rect", "text"}
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "link", "meta", "base", "form"}
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href", "srcdoc")]
    saved = "".join(base64.b64decode(content).decode() for content in OURS.findall(shown))
    assert not {"\x1b", "\u202e"} & {*shown, *saved}


@pytest.mark.parametrize("part", ["all", "code", "tests", "report", "trace"])
def test_no_text_of_a_report_becomes_markup_in_its_saved_form(
    report: tuple[Report, Any], part: Any, read: Callable[..., Any]
) -> None:
    nasty = subject(report[0])
    require_no_markup(render_html(nasty, part), read)
    assert not {"\x1b", "\u202e"} & set(render_text(nasty, part))


def test_no_text_of_a_report_becomes_markup_on_its_card(report: tuple[Report, Any], read: Callable[..., Any]) -> None:
    run = run_of(*report)
    require_no_markup(card_html(run), read)
    assert not {"\x1b", "\u202e"} & set(card_text(run))
