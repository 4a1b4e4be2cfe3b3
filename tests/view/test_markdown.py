"""Markdown of a model as HTML, of which nothing can load or run."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.view.as_html import MOST_HTML, markdown_html
from tests.cases import each
from tests.display.test_card import HOSTILE

ANSWER = """\
# Sales of `May`

The **best** month is May, see *below*.
- *North*: 3
* South: a_b_c 2*3*4

1. First
2. Second

| region | revenue |
|:-------|--------:|
| **North** | 1,200.50 |
| South | 7 | 8 |
| West |

```python
total = 1 * 2
```"""


def test_an_answer_is_read_as_markdown(read: Any) -> None:
    page = read(markdown_html(ANSWER))
    assert {"strong", "ul", "li", "table", "pre"} <= page.tags
    for mark in ("**", "# ", "```", "|", "---"):
        assert mark not in page.text, mark
    assert "a_b_c 2*3*4" in page.text and "total = 1 * 2" in page.text and "1. First" in page.text
    assert "1,200.50" in page.text and page.text.index("South") > page.text.index("North")


@each(
    "text",
    [
        "![x](https://example.org/pixel.png)",
        "[here](javascript:alert(1)) [here](javascript:x) [l](http://example.org/a)",
        "<img src=https://example.org/p onerror=alert(1)><script>alert(1)</script>",
        "| a <img src=x> |\n|---|\n| <script>alert(1)</script> [a](http://b) |",
        "```html\n<img src=x>\n```",
        "**<b onclick=x>** `<a href=x>`",
        HOSTILE,
    ],
)
def test_nothing_of_it_loads_or_runs(text: str, read: Any) -> None:
    page = read(markdown_html(text))
    assert page.tags <= {"div", "span", "strong", "ul", "li", "pre", "table", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"style", "class", "tabindex", "role", "aria-label"}


def test_the_address_of_a_link_can_be_read() -> None:
    assert "docs (http://example.org/a)" in markdown_html("[docs](http://example.org/a)")
    assert "[picture: a chart]" in markdown_html("![a chart](http://example.org/a.png)")


def test_a_text_that_would_need_too_much_html_is_shown_as_it_is_written() -> None:
    wide = f"|{'a|' * 300}\n|{'-|' * 300}\n" + f"|{'1|' * 300}\n" * 4
    assert len(markdown_html(wide)) <= MOST_HTML
