"""Render the profile of a file or folder as text for the model: masked, escaped, and within its budget."""

from __future__ import annotations

from collections.abc import Mapping

from autocoder_jupyter.data.cells import shorten
from autocoder_jupyter.data.files import DirProfile, FileProfile
from autocoder_jupyter.data.mentions import mentioned
from autocoder_jupyter.data.profile import FrameProfile, profile_frame
from autocoder_jupyter.data.rendering import Rendered, TableText, TableView, cost, neutral
from autocoder_jupyter.data.sample import sample_rows
from autocoder_jupyter.redaction.masking import FilePlaceholders, Masker, suffixes_of
from autocoder_jupyter.request import Share

_LISTED = 40
_SHOWN_CHARACTERS = 300


def profiles_of(profile: FileProfile | DirProfile, request: str) -> dict[str, FrameProfile]:
    """The profiles of the tables in a file or a folder, by the file's name. The request may mention their columns."""
    files = dict(profile.examples) if isinstance(profile, DirProfile) else {profile.name: profile}
    frames = {name: file.frame for name, file in files.items() if file.frame is not None}
    return {name: profile_frame(frame, named=mentioned(frame.columns, request)) for name, frame in frames.items()}


class PathText:
    """Renders a file or a folder in more or less detail. `tables` are the profiles of its tables, see `profiles_of`."""

    def __init__(
        self,
        profile: FileProfile | DirProfile,
        tables: Mapping[str, FrameProfile],
        share: Share,
        masker: Masker,
        max_rows: int,
    ) -> None:
        self._profile = profile
        self._tables = tables
        self._share = share
        self._masker = masker
        self._max_rows = max_rows
        self._names = FilePlaceholders()

    def render(self, budget: int) -> Rendered:
        """The most detailed text that fits."""
        if isinstance(self._profile, DirProfile):
            return self._dir(self._profile, budget)
        name = self._profile.name
        return self._file(self._profile, self._tables.get(name), budget, f"file file-1{suffixes_of(name)}")

    def _file(self, profile: FileProfile, table: FrameProfile | None, budget: int, word: str) -> Rendered:
        head = [f"{word}, {profile.size} bytes, {profile.kind}", *map(self._text, profile.facts)]
        line = shorten("; ".join(head), 3_000)
        if profile.frame is not None and table is not None:
            rows = sample_rows(profile.frame, self._max_rows) if self._share == "rows" else None
            view = TableView(table, rows, (line,), profile.rows)
            return TableText(view, self._share, self._masker, self._max_rows).render(budget)
        if self._share != "rows":
            return Rendered(line)
        body = [shorten(self._text(text), 700) for text in profile.contents]
        return self._with_lines([line, *body], profile.lines, budget)

    def _with_lines(self, head: list[str], lines: tuple[str, ...], budget: int) -> Rendered:
        wanted = lines[: self._max_rows]
        if not wanted:
            return Rendered("\n".join(head))
        room = min(budget - sum(map(cost, head)) - 10, budget * 2 // 3)
        shown: list[str] = []
        for line in wanted:
            text = shorten(neutral(self._masker.mask(line)), _SHOWN_CHARACTERS)
            room -= cost(text)
            if room < 0:
                break
            shown.append(text)
        left_out = (f"{len(wanted) - len(shown)} of {len(wanted)} lines",) if len(shown) < len(wanted) else ()
        return Rendered("\n".join([*head, f"first {len(shown)} lines:", *shown]), left_out)

    def _dir(self, profile: DirProfile, budget: int) -> Rendered:
        total = sum(size for _, size in profile.entries)
        count = f"{len(profile.entries)} files" if profile.complete else f"more than {len(profile.entries)} files"
        kinds = ", ".join(f"{self._suffix(suffix)} ×{number}" for suffix, number in profile.suffixes[:10])
        head = [f"folder, {count}, {total} bytes" + (f": {kinds}" if kinds else "")]
        listed = [f"{self._name(name)} {size}" for name, size in profile.entries[:_LISTED]]
        if len(profile.entries) > _LISTED:
            listed.append(f"and {len(profile.entries) - _LISTED} more")
        head.append(shorten("files and bytes: " + ", ".join(listed), 2_000))
        room = budget - sum(map(cost, head))
        left_out: tuple[str, ...] = ()
        for left, (name, example) in enumerate(profile.examples):
            fair = room // (len(profile.examples) - left)
            part = self._file(example, self._tables.get(name), fair, f"for instance {self._name(name)}")
            head.append(part.text)
            left_out += part.left_out
            room -= cost(part.text)
        return Rendered("\n".join(head), left_out)

    def _name(self, path: str) -> str:
        """The path of a file in a folder. Code may need it, so it is shown at levels that show values."""
        return self._text(path) if self._share == "rows" else self._names.of(path)

    def _suffix(self, suffix: str) -> str:
        return suffixes_of(f"x{suffix}") or "others"

    def _text(self, text: str) -> str:
        return neutral(self._masker.mask(text))
