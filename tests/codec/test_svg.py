"""SVG that is not trusted: shapes are kept; everything that runs, fetches, links or expands is removed."""

from __future__ import annotations

import base64

import pytest

from autocoder_jupyter.codec import Corrupt
from autocoder_jupyter.codec.pictures import MAX_SVG_BYTES, sanitized_svg
from tests.cases import each
from tests.codec.test_pictures import png

HEAD = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(inside: str, attributes: str = "") -> bytes:
    return f"<svg {HEAD} {attributes}>{inside}</svg>".encode()


def drawn(inside: str, attributes: str = "") -> str:
    text = sanitized_svg(svg(inside, attributes)).decode()
    return text[text.index(">") + 1 : -len("</svg>")]


@each(
    "inside",
    [
        '<path d="M 0 0 L 1 1" style="fill: none; stroke: #1f77b4"></path>',
        '<g id="a" transform="translate(1 2)"><rect width="1" height="2" fill="red"></rect></g>',
        '<text x="1">a &amp; b &lt; c</text>',
        '<text font-family="\'A\' &amp; &quot;B&quot; &lt;C&gt;" x="1&#10;2&#13;3&#9;4">"C" \'D\' &gt; E</text>',
        '<defs><path id="m" d="M 0 0"></path></defs><use xlink:href="#m" x="1"></use>',
        '<g clip-path="url(#p)"></g>',
        f'<image width="1" xlink:href="data:image/png;base64,{base64.b64encode(png()).decode()}"></image>',
    ],
)
def test_shapes_text_and_pictures_inside_stay(inside: str) -> None:
    assert drawn(inside) == inside


@each(
    "inside",
    [
        "<script>alert(1)</script>",
        '<script xlink:href="https://evil.example/x.js"></script>',
        "<foreignObject><p xmlns='http://www.w3.org/1999/xhtml'><img src='x' onerror='alert(1)'/></p></foreignObject>",
        '<style>@import url("https://evil.example")</style>',
        '<animate attributeName="href" to="javascript:alert(1)"></animate>',
        '<set attributeName="onload" to="alert(1)"></set>',
        '<a xlink:href="https://evil.example"><text>click</text></a>',
        "<metadata>x</metadata>",
        "<iframe xmlns='http://www.w3.org/1999/xhtml' src='https://evil.example'></iframe>",
        "<filter><feImage xlink:href='https://evil.example'/></filter>",
        "<!-- comment --><?xml-stylesheet href='https://evil.example/x.css'?>",
    ],
)
def test_elements_that_run_fetch_or_link_are_left_out_with_all_that_is_in_them(inside: str) -> None:
    assert drawn(inside) == ""


@each(
    "attribute",
    [
        'onload="alert(1)"',
        'onclick="alert(1)"',
        'style="fill: url(https://evil.example/x)"',
        'style="fill: URL (//evil.example)"',
        "style=\"background: image-set('x' 1x)\"",
        'style="fill: u\\72l(x)"',
        'style="@import x"',
        'fill="url(https://evil.example#x)"',
        'clip-path="url(data:image/svg+xml;base64,xx)"',
        'xlink:href="https://evil.example"',
        'href="javascript:alert(1)"',
        'xml:base="https://evil.example"',
        'class="x"',
        'tabindex="0"',
    ],
)
def test_attributes_that_run_fetch_or_link_are_left_out(attribute: str) -> None:
    assert drawn(f"<g {attribute}></g>") == "<g></g>"
    assert drawn("", attribute) == ""
    assert "evil" not in sanitized_svg(svg("", attribute)).decode()


@each(
    "address",
    ["https://evil.example/x.png", "//evil.example", "data:image/svg+xml;base64,PHN2Zz4=", "x.png",
     "data:image/png;base64,AAAA", "data:image/png;base64,%%%", "file:///etc/passwd"],
)  # fmt: skip
def test_a_picture_inside_is_a_png_in_the_text_or_nothing(address: str) -> None:
    assert drawn(f'<image xlink:href="{address}"></image>') == "<image></image>"
    assert drawn(f'<use href="{address}"></use>') == "<use></use>"


@each(
    "content",
    [
        b"",
        b"no svg",
        b"<html></html>",
        b"<svg></svg>",
        svg("<g>"),
        b'<!DOCTYPE svg [<!ENTITY a "aaaa">]>' + svg("<text>&a;</text>"),
        b"<!DOCTYPE svg SYSTEM 'https://evil.example/x.dtd'>" + svg(""),
        svg("<g>" * 200 + "</g>" * 200),
        svg("<g></g>" * 200_001),
        b" " * (MAX_SVG_BYTES + 1),
        svg('<g id="a"><path d=""/></g><g id="b"><use href="#a"/><use href="#a"/></g><use href="#b"/>'),
        svg('<g id="a"><use href="#a"/></g>'),
    ],
    ids=range(12),
)
def test_what_is_no_plain_svg_or_would_grow_is_refused(content: bytes) -> None:
    with pytest.raises(Corrupt):
        sanitized_svg(content)


def test_a_pattern_is_painted_with_no_other() -> None:
    hatch = '<pattern id="h" width="9"><path d="M 0 0"></path></pattern>'
    assert drawn(f'<defs>{hatch}</defs><g fill="url(#h)"></g>') == f'<defs>{hatch}</defs><g fill="url(#h)"></g>'
    nested = '<pattern id="a"><path fill="url(#h)"></path><use xlink:href="#b"></use></pattern>'
    assert "url(" not in drawn(nested) and "href" not in drawn(nested)
    assert drawn(f'<g fill="url(#h)">{hatch}</g>') == '<g fill="url(#h)"></g>'
