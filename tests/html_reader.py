"""Reads HTML strictly, in tests."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

VOID = {"br", "img", "input", "meta", "link", "hr"}


class _Reader(HTMLParser):
    """A strict HTML parser: every tag must be closed. It collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def close(self) -> None:
        super().close()
        assert self._open == []


@pytest.fixture
def read() -> Callable[[str], _Reader]:
    """Parses HTML strictly. Gives its tags, attributes and text."""

    def reader(html: str) -> _Reader:
        parsed = _Reader()
        parsed.feed(html)
        parsed.close()
        return parsed

    return reader
