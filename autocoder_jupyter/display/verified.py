"""Findings about a function: what it rests on, code mutations, invariants, second opinion, and how it may be split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.display.distribution import distribution
from autocoder_jupyter.display.outputs import column_texts
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import verified_run
from autocoder_jupyter.types.evidence import BEYOND
from autocoder_jupyter.types.interface import table_names
from autocoder_jupyter.view.amounts import counted, spending
from autocoder_jupyter.view.document import (
    Block,
    Item,
    Items,
    Line,
    Offer,
    Source,
    Span,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped
from autocoder_jupyter.view.numbers import alike

if TYPE_CHECKING:
    from autocoder_jupyter.run.code_run import CodeRun
    from autocoder_jupyter.run.events import SampleOutputs
    from autocoder_jupyter.types import CodeChange, Difference, Invariant, Reading, SecondOpinion, Strength
    from autocoder_jupyter.types.interface import FoundSplit


# What a verified function rests on

SENTENCE_CHARACTERS = 400
"""Characters of a sentence, such as a counterexample."""

MOST_MUTATIONS = 40
"""Code mutations that are listed."""

_EXPECTATIONS = {
    "": "",
    "plan": "; only the plan rules this out",
    "nobody": "; the plan rules this out, but the second solution also depends on it",
}

INPUT_CHARACTERS = 2_000
"""Characters of a small input."""


def verified_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing for a function that is not verified. Questions have a row of their own."""
    if not state.is_ready:
        return ()
    found = verified_run(state)
    mark = Span("✓", "good", only="html") if not found.weaknesses else Span("–", "quiet", only="html")
    rests = " · ".join(found.rests_on) + (" ·" if found.rests_on and found.unchecked else "")
    # The label of the row, which a terminal does not show, has the first word.
    named = Span(f"{found.start}:", only="text"), Span("in part:" if found.weaknesses else "", only="html")
    return (line(mark, *named, clipped(rests), Span(clipped(" · ".join(found.unchecked)), "muted")),)


def mutation_items(strength: Strength | None) -> tuple[Block, ...]:
    """The code mutations that were tried, first those that no test caught."""
    if strength is None:
        return ()
    noticed = [change for change in strength.changes if change.noticed_by]
    shown = [*strength.survivors, *noticed][:MOST_MUTATIONS]
    start = "Not all code mutations were tried" if strength.changes else "The tests were not tried on mutated code"
    ended = f"{start}: {strength.ended}." if strength.ended else ""
    added = f"Added because mutations were not caught: {', '.join(strength.added)}." if strength.added else ""
    notes = (muted(clipped(words, 500)) for words in (ended, added, strength.note) if words)
    return (*((Items(tuple(map(_mutation, shown))),) if shown else ()), *notes)


def invariant_items(strength: Strength | None) -> tuple[Block, ...]:
    """The changes of the data that should not matter, with the smallest input on which one does."""
    items = tuple(map(_invariant, strength.relations)) if strength is not None else ()
    return (Items(items),) if items else ()


def _invariant(invariant: Invariant) -> Item:
    if invariant.holds:
        return Item(Span("✓ holds" if invariant.said else "✓ same", "good"), (_invariant_words(invariant),))
    below = (Source(invariant.smallest[:INPUT_CHARACTERS], python=True),) if invariant.smallest else ()
    if invariant.said and invariant.demanded_by == "nobody":
        return Item(Span("– rejected", "muted"), (_invariant_words(invariant),), "by a second derivation", below=below)
    if invariant.said:
        return Item(Span("– fails", "warn"), (_invariant_words(invariant),), below=below)
    about = f"in {invariant.where}{_EXPECTATIONS[invariant.demanded_by]}"
    return Item(Span("– differs", "warn"), (clipped(invariant.name, 200),), about, below=below)


def _invariant_words(invariant: Invariant) -> str:
    return clipped(invariant.words if invariant.said else invariant.name, 400)


def _mutation(change: CodeChange) -> Item:
    mark = Span("✓ caught", "good") if change.noticed_by else Span("– not caught", "warn")
    by = f"by {clipped(change.noticed_by, 200)}" if change.noticed_by else "no test fails"
    return Item(mark, (Span(clipped(change.words, 500), "code"),), by)


def stability_blocks(strength: Strength | None) -> tuple[Block, ...]:
    """Whether the conclusion holds on resamples and needs its outcome, with a picture of the results."""
    found = strength.stability if strength is not None else None
    if found is None:
        return ()
    return (*lines(clipped(sentence, 600) for sentence in found.sentences), *distribution(found))


# Second opinion

MOST_DIFFERENCES = 3
"""Differences that are shown without a reading that explains them."""


def question_blocks(name: str, opinion: SecondOpinion, seen: SampleOutputs | None) -> tuple[Block, ...]:
    """How another reading changes the result, with a button to use it, and the other differences.

    Their numbers are written as in the table of `seen` that has them.
    """
    opinion = written_as(opinion, seen)
    rest = opinion.differences[1 if opinion.readings else 0 :][:MOST_DIFFERENCES]
    differing = (line(Span("≠", "warn"), _sentence(entry)) for entry in rest)
    return (*_readings(name, opinion), *differing, *lines([_misunderstandings(opinion)], "muted"))


def written_as(opinion: SecondOpinion, seen: SampleOutputs | None) -> SecondOpinion:
    """The opinion with numbers as in the tables of the sample."""
    differences = tuple(_as_in(entry, column_texts(seen, entry.where)) for entry in opinion.differences)
    return opinion.model_copy(update={"differences": differences})


def _as_in(entry: Difference, column: Sequence[str]) -> Difference:
    first, second = alike((entry.first, entry.second), column)
    if first == second:
        return entry
    return entry.model_copy(update={"first": first, "second": second})


def opinion_blocks(
    name: str, opinion: SecondOpinion | None, seen: SampleOutputs | None = None, *, is_asked: bool = False
) -> tuple[Block, ...]:
    """The content of the row; empty without a second opinion. `is_asked`: the differences are a question above."""
    if opinion is None:
        return ()
    opinion = written_as(opinion, seen)
    if opinion.state == "running":
        return (muted("running …"),)
    if opinion.state == "none":
        none = line(Span("none.", only="text"), Span(clipped(opinion.note, SENTENCE_CHARACTERS), "muted"))
        return (none, *lines([_unanswered(opinion)], "muted"))
    compared = _judged(opinion) if is_asked else _compared(name, opinion)
    return (*lines(_found_wrong(opinion)), *compared, *lines(_notes(opinion), "muted"))


def _compared(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.state in ("agree", "not compared"):
        yield line(Span("✓", "good") if opinion.state == "agree" else Span("–", "quiet"), _agrees(opinion))
        told = (one for one in opinion.differences[:MOST_DIFFERENCES] if not one.on.startswith(BEYOND))
        yield from lines([*map(_sentence, told), _beyond(opinion), _misunderstandings(opinion)], "muted")
        yield from _readings(name, opinion)
        return
    yield from question_blocks(name, opinion, None)
    yield from _judged(opinion)


def _readings(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    for number, reading in enumerate(opinion.readings, 1):
        yield line(Span("≠", "warn"), _read(opinion, number))
        if reading.assumption:
            yield muted(f"It depends on: {clipped(reading.assumption, SENTENCE_CHARACTERS)}")
        if name:
            yield _use(name, number, reading)


def _use(name: str, number: int, reading: Reading) -> Offer:
    """How to apply a reading."""
    cell = f"%%autocode {name} --refine\n{reading.line}"
    command = f"%autocode reply {name} use {number}"
    return Offer("Use this reading", cell, command, f"adds to the request: {reading.line}")


def _notes(opinion: SecondOpinion) -> tuple[str, ...]:
    return _not_compared(opinion), _unanswered(opinion), _of_one_family(opinion), _cost(opinion)


def _misunderstandings(opinion: SecondOpinion) -> str:
    points = "; ".join(point.rstrip(".") for point in opinion.misunderstandings)
    return f"Easy to misunderstand: {clipped(points, SENTENCE_CHARACTERS)}." if points else ""


def _of_one_family(opinion: SecondOpinion) -> str:
    """That both solutions may share a mistake, and how to ask somebody else."""
    if not opinion.family or not opinion.code:
        return ""
    other = "anthropic/claude-sonnet-4-5" if opinion.family == "GPT" else "openai/gpt-4.1"
    return (
        f"Both solutions are by one family of models ({clipped(opinion.family, 80)}), which may read the request "
        f'wrongly in the same way. %config Autocode.second_model = "{other}" has another family write the second one.'
    )


def _unanswered(opinion: SecondOpinion) -> str:
    asked = " and ".join(opinion.unanswered)
    return (
        f"A question for {clipped(asked, SENTENCE_CHARACTERS)} had no answer. The next run asks it again."
        if asked
        else ""
    )


def _agrees(opinion: SecondOpinion) -> str:
    count = len(opinion.tried)
    inputs = f"on the sample and {counted(count, 'variation')} of it" if count else "on the sample"
    if opinion.state == "agree" and not opinion.not_compared:
        return f"A second solution gives the same result {inputs}."
    if opinion.state == "agree":
        return f"In what was compared, a second solution gives the same result {inputs}."
    if not opinion.compared:
        return "There is a second solution, but none of its outputs could be compared."
    same = clipped(" and ".join(opinion.compared), SENTENCE_CHARACTERS)
    return f"Not all outputs were compared. A second solution gives the same {same} {inputs}."


def _beyond(opinion: SecondOpinion) -> str:
    """On which data that the sample has none of they differ; "" if on none. How they differ stands in *Evidence*."""
    names = [on.removeprefix(BEYOND) for on in opinion.differs_on if on.startswith(BEYOND)]
    more = f" and {len(names) - MOST_DIFFERENCES} more" if len(names) > MOST_DIFFERENCES else ""
    told = clipped(", ".join(names[:MOST_DIFFERENCES]), SENTENCE_CHARACTERS)
    return f"Beyond the profile of the sample, it differs {told}{more} (see Evidence)." if names else ""


def _read(opinion: SecondOpinion, number: int) -> str:
    """`With the reading “year on year”, best_month would be 2024-03 instead of 2024-11.`"""
    words = opinion.readings[number - 1].words.removeprefix("read ")
    if opinion.state == "agree":
        return f"With the reading “{words}”, the result is the same on this data, and may differ on other data."
    if number > 1 or not opinion.differences:
        return f"With the reading “{words}”, the result differs too."
    return f"With the reading “{words}”, {_described(opinion.differences[0])}."


def _sentence(difference: Difference) -> str:
    text = _described(difference)
    return f"{text[0].upper() if difference.on else text[0]}{text[1:]}."


def _described(difference: Difference) -> str:
    """`best_month would be 2024-03 instead of 2024-11`."""
    where, first, second = difference.where, difference.first, difference.second
    if not first and not second:  # values are withheld
        rows = f" in {difference.count} of {difference.of} rows" if difference.of > 1 else ""
        text = f"{where} would differ{rows}"
    elif second.endswith((" rows", " entries")):
        at = f" ({difference.at})" if difference.at else ""
        text = f"{where} would have {second} instead of {first}{at}"
    elif difference.of > 1:
        at = f" at {difference.at}" if difference.at else ""
        text = f"{where} would differ in {difference.count} of {difference.of} rows: {second} instead of {first}{at}"
    else:
        text = f"{where} would be {second} instead of {first}"
    text = f"{difference.on}, {text}" if difference.on else text
    return clipped(text, SENTENCE_CHARACTERS)


def _judged(opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.confirms == "first":
        yield muted(
            "A third derivation on a small input, made from the request and the plan's assumptions, confirms that the "
            "function follows the plan. It does not confirm the assumptions."
        )
    elif opinion.confirms == "second":
        words = "A third derivation on a small input confirms the second solution, so the function may be wrong."
        yield line(Span("⚠", "warn"), words)
        if opinion.stays:
            yield muted(f"The function stays as it is. {clipped(opinion.stays, SENTENCE_CHARACTERS)}")


def _found_wrong(opinion: SecondOpinion) -> Iterator[str]:
    if opinion.tests:
        yield f"It found an input on which the code was wrong. It is a test now: {', '.join(opinion.tests)}."


def _cost(opinion: SecondOpinion) -> str:
    spent = spending(opinion.usage, None)
    return " ".join(filter(None, (f"It cost {spent}, included in the total above." if spent else "", opinion.note)))


def _not_compared(opinion: SecondOpinion) -> str:
    if not opinion.not_compared:
        return ""
    more = (
        f" and {len(opinion.not_compared) - MOST_DIFFERENCES} more"
        if len(opinion.not_compared) > MOST_DIFFERENCES
        else ""
    )
    shown = "; ".join(clipped(note, SENTENCE_CHARACTERS) for note in opinion.not_compared[:MOST_DIFFERENCES])
    return f"Not compared: {shown}{more}."


# Splits

OFFER = "Large tables: check how it may be split"
"""The label of the button."""


def can_be_checked(state: FunctionRun | CodeRun) -> bool:
    """Whether a check makes sense: the function takes and gives a table, and it is not known how it may be split."""
    if not isinstance(state, FunctionRun) or not state.is_ready or state.plan is None or state.splits.doing:
        return False
    if state.plan.split is not None or not table_names(state.plan.inputs):
        return False
    known = {found.output for found in state.splits.found if found.split.complete and not found.fixed}
    return not known.issuperset(table_names(state.plan.outputs))


def split_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing if nothing is known."""
    return tuple(_split_lines(state)) if state.is_ready else ()


def _split_lines(state: FunctionRun) -> Iterator[Line]:
    known, outputs = state.splits, [spec.name for spec in state.plan.outputs] if state.plan else []
    for output in outputs:
        for found in known.found:
            if found.output == output:
                yield _split_line(found, of=f"{output}: " if len(outputs) > 1 else "")
    if known.doing:
        yield line(
            Span("◐", "busy", only="html"),
            clipped(f"checking how it may be split: {known.doing} …", SENTENCE_CHARACTERS),
        )
    if known.failed:
        yield line(
            Span(clipped(f"how it may be split could not be checked: {known.failed}", 2 * SENTENCE_CHARACTERS), "warn")
        )


def _split_line(found: FoundSplit, of: str) -> Line:
    split, against = found.split, found.split.counterexample
    mark = Span("–", "quiet", only="html") if split.kind == "whole" else Span("✓", "good", only="html")
    about = [
        "" if split.kind == "whole" else "the order of rows counts" if split.ordered else "in any order of rows",
        counted(split.comparisons, "comparison"),
        f"{'' if split.kind == 'whole' else 'not more freely, '}because {against}" if against else "",
        f"with {' and '.join(found.fixed)} as in a call" if found.fixed else "",
    ]
    how = "cannot be split" if split.kind == "whole" else f"may be split: {split.words}"
    words = clipped(f"{of}{split.input} {how}", SENTENCE_CHARACTERS)
    return line(mark, f"{words} ·", Span(clipped(" · ".join(filter(None, about)), 2 * SENTENCE_CHARACTERS), "muted"))
