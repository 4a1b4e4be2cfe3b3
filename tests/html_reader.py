"""Reads HTML strictly, in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html.parser import HTMLParser

import pytest

from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.document import Block

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
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")

    def close(self) -> None:
        super().close()
        assert self._open == []


@pytest.fixture
def read() -> Callable[[str | Iterable[Block]], _Reader]:
    """Parses HTML, or the HTML of blocks of a document, strictly. Gives its tags, attributes and text."""

    def reader(shown: str | Iterable[Block]) -> _Reader:
        parsed = _Reader()
        parsed.feed(shown if isinstance(shown, str) else blocks_html(shown))
        parsed.close()
        return parsed

    return reader
