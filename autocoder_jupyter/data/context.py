"""Describe the samples and the examples of a request for the model, as one text of limited length."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import pandas as pd

from autocoder_jupyter.codec import encode
from autocoder_jupyter.codec.plain import dumps, to_json
from autocoder_jupyter.data.capture import origin_of
from autocoder_jupyter.data.checks import ColumnCheck, Undecided, conflicts, evaluate
from autocoder_jupyter.data.database_text import database_text
from autocoder_jupyter.data.files import PathText, describe_path, profiles_of
from autocoder_jupyter.data.helpers import helpers_text
from autocoder_jupyter.data.keys import KeyLink, find_links, find_parts
from autocoder_jupyter.data.profile import FrameProfile, as_frame, known_profile, profile_frame, settled_together
from autocoder_jupyter.data.rendering import (
    SET_MAX_VALUES,
    SET_MIN_COUNT,
    Rendered,
    TableText,
    TableView,
    cost,
    neutral,
)
from autocoder_jupyter.data.sample import mentioned, sample_rows
from autocoder_jupyter.data.shapes import geography, shape_of
from autocoder_jupyter.data.text_formats import percent, shorten
from autocoder_jupyter.data.withheld import NOTHING_WITHHELD, TableWithholding, WithheldColumns
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.masking import Masker, count_masked
from autocoder_jupyter.request import Example, Share
from autocoder_jupyter.types import Dir, File, Helpers, SampledDatabase
from autocoder_jupyter.untrusted.plain_json import shortened

# Examples

MOST_ROWS = 30
TABLE_TOKENS = 900
"""Maximum size of a table in an example."""

MOST_EXAMPLES = 8
_LONGEST_VALUE = 400

_RULE = (
    "The person gives examples. For what is given, just what is expected must come out; what is not given is as in the "
    "data above. They are right where the request can be read otherwise."
)
_WITHHELD = "The person has {count} of an input and its output, which the function must fulfil. They are withheld."


def examples_text(examples: Sequence[Example], share: Share, masker: Masker) -> str:
    """The text for the prompt, after the data; "" if there are none. It has values only with `share="rows"`."""
    if not examples:
        return ""
    if share != "rows":
        return _WITHHELD.format(count="1 example" if len(examples) == 1 else f"{len(examples)} examples")
    blocks = [_RULE]
    for number, example in enumerate(examples[:MOST_EXAMPLES], start=1):
        blocks += [f'<data name="example {number}">']
        blocks += [_line("given", name, value, masker) for name, value in example.given] or ["given: nothing"]
        blocks += [_line("expected", name, value, masker) for name, value in example.expected]
        blocks += ["</data>"]
    if len(examples) > MOST_EXAMPLES:
        blocks.append(f"There are {len(examples) - MOST_EXAMPLES} more, which are not shown.")
    return "\n".join(blocks)


def _line(what: str, name: str, value: Any, masker: Masker) -> str:
    head = f"{what}{f' {neutral(name)}' if name else ''}"
    if isinstance(value, File | Dir):
        return f"{head}: a {type(value).__name__}"
    if not isinstance(value, pd.DataFrame | pd.Series):
        text = neutral(masker.mask(repr(shortened(value))))
        return f"{head}: {text if len(text) <= _LONGEST_VALUE else f'{text[:_LONGEST_VALUE]}…'}"
    view = TableView(profile_frame(value), sample_rows(as_frame(value), MOST_ROWS))
    return f"{head}: {TableText(view, 'rows', masker, MOST_ROWS).render(TABLE_TOKENS).text}"


def example_record(example: Example) -> list[Any]:
    """The identity of an example: its text, and a hash of each of its values."""
    values = [[name, _digest(value)] for name, value in (*example.given, *example.expected)]
    return [example.text, len(example.given), values]


def _digest(value: Any) -> str:
    if isinstance(value, pd.DataFrame | pd.Series | File | Dir):
        return encode(value, "Series" if isinstance(value, pd.Series) else _kind(value)).digest()
    return hashlib.sha256(dumps(to_json(value, "the value", simplify=True)).encode()).hexdigest()


def _kind(value: Any) -> str:
    return "DataFrame" if isinstance(value, pd.DataFrame) else type(value).__name__


# Samples

MAX_TOKENS = 3600
"""Budget of the whole text, in estimated tokens or quarters of its characters, whichever is more."""

MAX_SAMPLES = 30
"""Maximum number of samples that are described. Further samples are only named."""

_INTRODUCTION = "The data, described. Missing values and repeated rows are told where there are any."
_SHARE_NOTES: Mapping[Share, str] = {
    "rows": "",
    "stats": (
        "Rows and single texts are withheld; the values of a column are named only where there are at most 20,"
        " each at least 5 times."
    ),
    "schema": "Only names, dtypes and sizes are given; values and statistics are withheld.",
}
_UNFIT = "What the request says and the data do not fit here, as a check found. Follow the data:"
_CUT = "…(+"
_CUT_NOTE = "…(+9) says that 9 characters are left out here; the data have them."
_MASK_NOTE = "Placeholders such as <email-1> stand for private values; the real data hold the real ones."


class _Section(Protocol):
    """A section that can be written in more or less detail."""

    def render(self, budget: int) -> Rendered: ...


@dataclass(frozen=True)
class _Draft:
    """A section before its tables were compared with those of the others.

    Args:
        section: makes the section from the profiles as they are then.
    """

    profiles: dict[str, FrameProfile]
    section: Callable[[dict[str, FrameProfile]], _Section]


@dataclass(frozen=True)
class DataContext:
    """The description for the model. It is byte for byte the same for the same data.

    Args:
        shapes: columns and dtypes of frames and Series by sample, for `check_drift`.
        masked: the number of different masked values of each kind.
        left_out: by sample, the parts that did not fit.
        conflicts: what the request says of the data that is not so, one sentence each. It is also in the text.
        masker: has the placeholders of the text.
    """

    text: str
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)
    masked: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    share: Share = "rows"
    conflicts: tuple[str, ...] = ()
    masker: Masker = field(default_factory=Masker, repr=False, compare=False)

    def sent(self) -> dict[str, Any]:
        """What leaves the notebook, as JSON, for the record. `text` is exactly the text in the prompt."""
        return {
            "share": self.share,
            "text": self.text,
            "characters": len(self.text),
            "masked": dict(self.masked),
            "left_out": {name: list(parts) for name, parts in self.left_out.items()},
        }


def build_context(
    samples: Mapping[str, Any],
    *,
    share: Share = "rows",
    max_sample_rows: int = 100,
    checks: Sequence[ColumnCheck] = (),
    request: str = "",
    examples: Sequence[Example] = (),
    withheld: WithheldColumns = NOTHING_WITHHELD,
    helpers: Helpers | None = None,
    databases: Sequence[SampledDatabase] = (),
) -> DataContext:
    """Describe samples.

    Raises:
        InvalidRequest: a sample has another type, or its file does not exist.
    """
    masker = Masker()
    max_sample_rows = max(0, max_sample_rows)
    whole, samples = samples, withheld.without_hidden(samples)
    described = dict(list(samples.items())[:MAX_SAMPLES])
    drafts = {
        name: _draft(name, value, share, max_sample_rows, masker, checks, request, withheld.of_table(whole[name]))
        for name, value in described.items()
    }
    profiles = iter(settled_together([profile for draft in drafts.values() for profile in draft.profiles.values()]))
    sections = {name: draft.section({key: next(profiles) for key in draft.profiles}) for name, draft in drafts.items()}
    frames = {name: as_frame(value) for name, value in described.items() if isinstance(value, pd.DataFrame | pd.Series)}
    parts = [f"{', '.join(names)} have the same columns: parts of one table, to stack." for names in find_parts(frames)]
    links = (
        [_link_text(link, masker, share) for link in find_links(withheld.unmasked(frames), request)]
        if share != "schema"
        else []
    )
    unnamed = [name for name in samples if name not in described]
    closing = [
        *(neutral(part)[:400] for part in parts),
        *links,
        *([f"Not described: {neutral(', '.join(unnamed))[:400]}"] if unnamed else []),
    ]
    found = conflicts(request, frames, share=share, masked=withheld.masked)
    unfit = tuple(masker.mask(neutral(text)[:400]) for text in found)
    if unfit:
        closing.append("\n".join([_UNFIT, *(f"- {text}." for text in unfit)]))
    budget = (
        MAX_TOKENS
        - cost(_INTRODUCTION)
        - cost(_SHARE_NOTES[share])
        - cost(_MASK_NOTE)
        - cost(_CUT_NOTE)
        - sum(map(cost, closing))
    )
    rendered = _render_fairly(sections, budget)
    text = _joined(rendered, closing, share, examples_text(examples, share, masker))
    own_code = helpers_text(helpers or Helpers(), "stats" if withheld else share, masker)
    told = (database_text(database, withheld, masker) for database in databases)
    text = "\n\n".join(filter(None, (text, *told, own_code)))
    return DataContext(
        text=text,
        shapes={name: shape_of(whole[name], partial(_may_name, share, withheld)) for name in frames},
        masked=count_masked(text),
        left_out={name: part.left_out for name, part in rendered.items() if part.left_out},
        share=share,
        conflicts=unfit,
        masker=masker,
    )


def _may_name(share: Share, withheld: WithheldColumns, label: Any, column: pd.Series[Any]) -> bool:
    """Whether the categories of a column may be recorded: with `stats` only few and frequent ones."""
    if share == "schema" or str(label) in withheld.hidden | withheld.masked:
        return False
    counts = column.value_counts() if share == "stats" else ()
    return share == "rows" or (len(counts) <= SET_MAX_VALUES and all(count >= SET_MIN_COUNT for count in counts))


def _draft(
    name: str,
    value: Any,
    share: Share,
    max_rows: int,
    masker: Masker,
    checks: Sequence[ColumnCheck],
    request: str,
    withholding: TableWithholding,
) -> _Draft:
    if isinstance(value, File | Dir):
        found = describe_path(value, request)
        return _Draft(profiles_of(found, request), lambda tables: PathText(found, tables, share, masker, max_rows))
    if not isinstance(value, pd.DataFrame | pd.Series):
        raise InvalidRequest(
            f"The sample {name!r} cannot be a {type(value).__name__}.",
            why="Samples are DataFrame, Series, File or Dir.",
        )
    frame = as_frame(value)

    def section(tables: dict[str, FrameProfile]) -> _Section:
        rows = sample_rows(frame, max_rows) if share == "rows" else None
        quotes = share == "rows" and not withholding
        checked = tuple(filter(None, (_check_text(check, value, masker, quotes) for check in _checks_on(name, checks))))
        origin = origin_of(value)
        came = f"came as a {origin.kind}, and is handed over as this table of pandas" if origin.kind else ""
        part = f"{origin.drawn.words}, so what follows is of the sample" if origin.drawn else ""
        remarks = (
            *filter(None, [came, part, neutral(masker.mask(geography(value)))]),
            *map(neutral, withholding.notes),
            *(checked if share != "schema" else ()),
        )
        profile = withholding.profile(tables[name])
        view = TableView(profile, None if rows is None else withholding.rows(rows), remarks, places=withholding.places)
        return TableText(view, share, masker, max_rows)

    return _Draft({name: known_profile(value, named=mentioned(frame.columns, request))}, section)


def _checks_on(name: str, checks: Sequence[ColumnCheck]) -> list[ColumnCheck]:
    return [check for check in checks if check.target == name]


def _check_text(check: ColumnCheck, value: pd.DataFrame | pd.Series[Any], masker: Masker, quotes: bool) -> str:
    try:
        outcome = evaluate(check, value, show_values=quotes)
    except Undecided:
        return ""
    verdict = "holds on this sample" if outcome.passed else f"does NOT hold on this sample: {outcome.message}"
    return neutral(f"constraint {masker.mask(outcome.name)[:200]!r} {masker.mask(verdict)[:300]}")


def _link_text(link: KeyLink, masker: Masker, share: Share) -> str:
    ends = f"{link.table}[{link.column}] → {link.to_table}[{link.to_column}]"
    if not link.share:
        alike = percent(round(1000 * link.alike), 1000)
        alike = f"; {alike} would agree without blanks, case and leading zeros" if link.alike else ""
        return neutral(masker.mask(f"Same name, no value in common: {ends}{alike}.", bare_numbers=False))[:400]
    there, back = (percent(round(1000 * share), 1000) for share in (link.share, link.back))
    found = f"{there} of its values are found there, {back} of those there are found here"
    dtypes = "" if link.same_dtype else "; THE DTYPES DIFFER, values agree as text"
    word, unique = ("Likely join", "unique there") if link.to_unique else ("Shared values", "repeated there")
    agree = "".join(
        f"; {name} of both is equal on {percent(round(1000 * part), 1000)} of these rows" for name, part in link.shared
    )
    mask = masker.for_column([*link.missing, *link.missing_back])
    named = "".join(
        f"; {where}: {', '.join(repr(shorten(mask(text), 40)) for text in texts)}"
        for where, texts in (("not found there", link.missing), ("not found here", link.missing_back))
        if texts and share == "rows"
    )
    text = f"{word}: {ends}, {found}, {unique}{dtypes}{agree}"
    return f"{neutral(masker.mask(text, bare_numbers=False))[:400]}{neutral(named)[:600]}."


def _render_fairly(sections: Mapping[str, _Section], budget: int) -> dict[str, Rendered]:
    """Divide the budget equally. What the small sections do not need goes to the large ones."""
    wanted = {name: cost(section.render(budget).text) for name, section in sections.items()}
    rendered: dict[str, Rendered] = {}
    for count, name in enumerate(sorted(sections, key=lambda name: wanted[name])):
        part = budget // (len(sections) - count) - cost(_opening(name)) - 8
        rendered[name] = _clipped(sections[name].render(part), part)
        budget -= cost(rendered[name].text) + cost(_opening(name)) + 8
    return {name: rendered[name] for name in sections}


def _clipped(rendered: Rendered, budget: int) -> Rendered:
    """The complete lines that fit, for a section that cannot be rendered small enough."""
    lines = rendered.text.splitlines()
    kept: list[str] = []
    for line in lines:
        short = line if len(line) <= 1500 else line[:1500] + "…"
        budget -= cost(short)
        if budget < 0 and kept:
            return Rendered("\n".join(kept), (*rendered.left_out, f"{len(lines) - len(kept)} lines of the description"))
        kept.append(short)
    return Rendered("\n".join(kept), rendered.left_out)


def _opening(name: str) -> str:
    return f'<data name="{neutral(name)[:80]}">'


def _joined(rendered: Mapping[str, Rendered], closing: Sequence[str], share: Share, examples: str) -> str:
    if not rendered:
        return examples
    body: list[str] = []
    for name, part in rendered.items():
        parts = [text for text in part.left_out if not text.endswith("sample rows")]  # that they are some says enough
        left_out = [f"left out for length: {', '.join(parts)}"] if parts else []
        body += [_opening(name), part.text, *left_out, "</data>"]
    text = "\n".join([*body, *closing, *([examples] if examples else [])])
    notes = [
        _INTRODUCTION,
        _SHARE_NOTES[share],
        _MASK_NOTE if count_masked(text) else "",
        _CUT_NOTE if _CUT in text else "",
    ]
    return "\n".join([" ".join(note for note in notes if note), text])
