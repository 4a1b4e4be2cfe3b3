"""The card of a generation, while it runs and when it has ended.

From top to bottom: name and state, the stages in fixed places, the rows with a label, then the parts that fold. The
card has no running clock; the strip below it has one. An update closes the parts that the user has opened, so the card
is updated only after an event.
"""

from __future__ import annotations

import re
from collections.abc import Set

from autocoder_jupyter.display import folds, parts
from autocoder_jupyter.display.actions import (
    ASKED,
    WORDS,
    approval_row,
    model_row,
    next_steps,
    question_lines,
    silent_row,
    silent_status,
)
from autocoder_jupyter.display.folds import folded_sections, shorter_forms
from autocoder_jupyter.display.outputs import output_blocks
from autocoder_jupyter.display.parts import (
    PHASE_TONES,
    change_blocks,
    reason_of,
    waits_for,
)
from autocoder_jupyter.display.verified import opinion_blocks, question_blocks, split_blocks, verified_blocks
from autocoder_jupyter.run.function_run import FunctionRun, StageState
from autocoder_jupyter.run.of_report import (
    NOT_FULLY_CHECKED,
    READY,
    SECOND,
    SUBJECTS,
    WITH_QUESTION,
    Subject,
    headline,
    open_questions,
)
from autocoder_jupyter.types.records import STAGES, StageName
from autocoder_jupyter.view.amounts import counted, duration, spending
from autocoder_jupyter.view.document import (
    Block,
    Button,
    Document,
    Line,
    Row,
    Section,
    Span,
    Tone,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import clipped

REASON_CHARACTERS = 2_000
WHY_IT_ASKS = "The code imports it, and it is not in the list of known packages."
QUERY_CHARACTERS = 2_000
MOST_DIFFERENCES = 8
"""Sentences about the data that the card shows."""

READY_TONES: dict[str, Tone] = {READY: "good", WITH_QUESTION: "warn", NOT_FULLY_CHECKED: "quiet"}
"""The colours of the verdicts."""

_RENAMED = re.compile(r'--rename (?:"([^"]+)"|([^\s"]+))')

_UNSOLVED = ("failed", "over_budget")
_HAS_FAILURES = (*_UNSOLVED, "running", "waiting", "cancelled")
"""Phases in which the row *Failed* shows what failed in the last attempt."""


def card(state: FunctionRun) -> Document:
    """The document. Untrusted text is cut; the parts that fold take the characters that are left."""
    evidence = evidence_rows(state)
    return Document(
        state.name,
        headline(state),
        tone(state),
        facts=facts(state),
        is_under_way=not state.finished,
        marks=_stages(state),
        status=(*waits_for(state, state.faults), *silent_status(state), *_beside(state), *parts.effort(state)),
        sections=(Section("", rows(state), folded=False), *folded_sections(state, evidence)),
        shorter=shorter_forms(state, evidence),
    )


def rows(state: FunctionRun, *, in_full: bool = False) -> tuple[Row, ...]:
    """What is seen first: what a person must decide, the result, and how far it is checked. Empty rows are not shown.

    What else was found is in `evidence_rows`. `in_full`: with all assumptions.
    """
    reason, asked = _reason(state), _subjects(state)
    failed, best = _failures(state, reason), _best(state)
    refines = state.name if state.is_current else ""
    most = None if in_full else 0 if asked else parts.FIRST_WORDS
    return (
        Row("Later cell", _later(state), prefix="", refines=state.name),
        Row("Note", lines(map(clipped, state.notice)), prefix=""),
        question_row(state),
        Row("Refine", lines([clipped(state.refinement, 600)])),
        Row("Questions", (*_approval(state), *_questions(state)), prefix="", kind=ASKED),
        approval_row(state),
        Row("Answers", lines(map(clipped, state.replies)), prefix="answered"),
        silent_row(state),
        Row("Agent", () if state.finished else folds.agent_blocks(state)),
        Row("Reason", (*_paragraphs(reason), *(() if failed else best)), prefix=""),
        Row("", lines(parts.typed(state)), prefix="", kind=WORDS),
        model_row(state),
        Row("Failed", (*failed, *(best if failed else ()))),
        Row("New name", _keeping(state)),
        Row("Last good", lines([_last_good(state)]), prefix=""),
        Row("New version", (*lines([clipped(_why(state), 600)]), *_offer(state)), prefix="new version"),
        Row("Changes", _changes(state), prefix=""),
        Row("Sample", lines(map(clipped, _samples(state))), prefix=""),
        Row("Builds on", lines([clipped(_builds_on(state), 600)]), prefix="builds on"),
        Row("Database", _databases(state), prefix="database"),
        Row("Outputs", (*_not_verified(state), *_outputs(state)), prefix=""),
        Row("Rows used", parts.rows_used(state.evidence), prefix="rows used"),
        Row(
            "Read as",
            parts.assumptions(state.plan, state.evidence, can_change=state.is_current, most=most),
            prefix="read as",
            refines=refines,
        ),
        Row("House rules", parts.house_rules(state.house_rules), prefix="house rules"),
        Row("Verified", verified_blocks(state), prefix=""),
        Row("Split", split_blocks(state), prefix=""),
        Row("", (line(Button("Refine or ask")),) if state.is_current else (), only="html", refines=refines),
        next_steps(state),
    )


def evidence_rows(state: FunctionRun) -> tuple[Row, ...]:
    """What was found, but for what `rows` asks about."""
    asked = _subjects(state)
    refines = state.name if state.is_current else ""
    return (
        Row("Your tests", _own(state)),
        Row("Warnings", parts.warnings(state.evidence, state.trace, asked)),
        Row("Data", () if "data" in asked else _differences(state)),
        Row(
            "Second opinion",
            opinion_blocks(refines, state.second_opinion, state.outputs, is_asked="second opinion" in asked),
        ),
    )


def _subjects(state: FunctionRun) -> Set[Subject]:
    """What is asked about."""
    return {question.about for question in open_questions(state)}


def _later(state: FunctionRun) -> tuple[Block, ...]:
    """What has become of a later cell of this name, with a button that shows it; and what still works."""
    words = state.replaced or state.later
    shown = (line(Span(clipped(words, 600), "warn"), Button("Show it", "autocode-reveal")),) if words else ()
    if not state.later or not state.is_current:
        return shown
    still = line(f"{state.name}.run(…) still calls the function below.", Button("Run", "autocode-call"))
    return (*shown, still)


def tone(state: FunctionRun) -> Tone:
    """The colour of the state. Of what can be used, only what is fully checked is green."""
    if state.replaced:
        return "quiet"
    if state.is_ready:
        return READY_TONES[headline(state)]
    return "warn" if state.asked_at_end else PHASE_TONES[state.phase]


def facts(state: FunctionRun) -> tuple[str, ...]:
    """The facts beside the title."""
    found = (
        _first_failure(state),
        "edited by you" if state.author == "you" else "",
        f"backend: {state.backend}" if state.backend else "",
        folds.turns(state.trace, finished=state.finished) if state.trace else "",
        _tests(state),
        _attempts(state),
        duration(state.seconds) if state.finished and state.seconds else "",
        spending(state.usage, state.max_cost),
        _from_a_record(state),
        "slower than usual" if state.is_slow else "",
    )
    return tuple(fact for fact in found if fact)


def _tests(state: FunctionRun) -> str:
    if state.test_count:
        return f"{state.passed} of {counted(state.test_count, 'test')} passed"
    return "not tested" if state.phase in ("ready", "failed") and state.solution else ""


def _from_a_record(state: FunctionRun) -> str:
    """Where the function came from when the model was not asked."""
    if state.is_kept:
        return f"kept: verified on {state.kept}" if state.kept else "kept"
    return "replayed from the journal" if state.replayed else ""


def _last_good(state: FunctionRun) -> str:
    """Which function `run` calls until this one is ready; "" if it is kept or was replaced."""
    if not state.has_before or state.is_kept or state.is_ready:
        return ""
    if state.finished:
        return f"{state.name}.run(…) still calls the last good version, {state.name}.last_good."
    return f"Until this version is ready, {state.name}.last_good is the last good one."


def _attempts(state: FunctionRun) -> str:
    if not state.attempt:
        return ""
    return counted(state.attempt, "attempt") if state.finished else f"attempt {state.attempt} of {state.of}"


def _beside(state: FunctionRun) -> tuple[str, ...]:
    """What still runs beside a function that is verified, for the line of a terminal; the row *Verified* has it too."""
    beside = " and ".join(words for words in state.beside if words != SECOND or state.second_opinion is None)
    return (f"{beside} running …".capitalize(),) if beside else ()


def _first_failure(state: FunctionRun) -> str:
    """The renamed columns, or the first failure; "" if the headline already says why the run ended."""
    if state.asked_at_end == "name":
        pairs = map("".join, _RENAMED.findall(state.option))
        return clipped(", ".join(pair.replace("=", " → ", 1) for pair in pairs), parts.FIRST_LINE)
    return parts.first_failure(state.outcomes, state.evidence, _reason(state)) if state.phase == "failed" else ""


def _reason(state: FunctionRun) -> str:
    reason = parts.untyped(state)
    reason = parts.without_first(reason, state.outcomes) if state.phase in _UNSOLVED else reason
    return reason_of(reason, headline(state))


def _not_verified(state: FunctionRun) -> tuple[Block, ...]:
    """A warning if the outputs are of code that has not passed its tests."""
    if state.outputs is None or state.outputs.is_verified:
        return ()
    if state.finished:
        return (line(Span("not verified", "warn")),)
    return (line(Span("not verified yet", "warn"), Span(f"{state.name}.draft(…) runs this code", "muted")),)


def _outputs(state: FunctionRun) -> tuple[Block, ...]:
    """The outputs. Pictures of a run under way are in the strip: the card is sent anew with each change."""
    return output_blocks(state.outputs, state.name, draws=state.finished)


def _paragraphs(reason: str) -> tuple[Line, ...]:
    """A reason of several lines, with its line breaks."""
    return lines(words for words in clipped(reason, REASON_CHARACTERS).splitlines() if words.strip())


def _stages(state: FunctionRun) -> tuple[Span, ...]:
    """Every stage in its place from the start; an optional one only when it is reached. None at the end: the title and
    what is below it say more.
    """
    shown = []
    for stage, record in STAGES.items():
        how = state.stage_state(stage)
        if how is not None or not record.is_optional:
            mark, tone = _stage_mark(state, stage, how)
            shown.append(Span(f"{mark} {record.label}", tone, tip=how.detail if how else ""))
    return () if state.is_ready or state.finished else tuple(shown)


def _stage_mark(state: FunctionRun, stage: StageName, how: StageState | None) -> tuple[str, Tone]:
    if how is None:
        return "○", "quiet"
    if how.status == "done" and _found_a_failure(state, stage):
        return "✗", "bad"
    opinion = state.second_opinion
    if stage == "second" and opinion and opinion.state in ("not compared", "none"):
        return "–", "quiet"
    if stage == "second" and opinion and opinion.state == "differ" and how.status == "done":
        return "≠", "warn"
    if how.status == "done":
        return ("↺" if how.replayed else "✓"), "good"
    return ("✗", "bad") if how.status == "failed" else ("◐", "busy")


def _found_a_failure(state: FunctionRun, stage: StageName) -> bool:
    """Whether the stage finished and found a failure of the function."""
    finds = STAGES[stage].finds
    if finds == "tests":
        return any(outcome.outcome != "passed" for outcome in state.outcomes)
    return finds == "conditions" and state.evidence is not None and not all(c.passed for c in state.evidence.conditions)


def _approval(state: FunctionRun) -> tuple[Block, ...]:
    return (line(Span(state.asks, "warn"), WHY_IT_ASKS),) if state.approval else ()


def _questions(state: FunctionRun) -> tuple[Block, ...]:
    """The questions of the plan, with numbered options."""
    return tuple(line(words, look="kept-lines") for words in question_lines(state.questions, state.name))


def _why(state: FunctionRun) -> str:
    """Why there is this version; "" if the row *Refine* says it."""
    return "" if state.refinement and state.why == f"refined: {state.refinement}" else state.why


def question_row(state: FunctionRun) -> Row:
    """What a person must decide, with its numbers, and how to keep the function as it is; empty if nothing is asked."""
    asked = _subjects(state)
    return Row("Question", _asked(state, asked) if asked else (), prefix="", refines=state.name if asked else "")


def _asked(state: FunctionRun, asked: Set[Subject]) -> tuple[Block, ...]:
    found: list[Block] = []
    if "second opinion" in asked and state.second_opinion:
        found += question_blocks(state.name, state.second_opinion, state.outputs)
    if state.evidence is not None:
        found += parts.warned(
            words for about in SUBJECTS if about in asked for words in parts.findings(state.evidence, about)
        )
    if "data" in asked:
        found += _differences(state)
    if not state.finished or state.later:  # an answer is to the last run of a name
        return tuple(found)
    typed = Row(
        "",
        (line(Span(f"%autocode reply {state.name} keep", "code"), Span("if it is right as it is", "muted")),),
        kind=WORDS,
    )
    readings = state.second_opinion.readings if "second opinion" in asked and state.second_opinion else ()
    other = Button("Other", option=readings[0].line if readings else "")
    return (*found, line(Button("Keep it as it is", "autocode-keep"), other), typed)


def _offer(state: FunctionRun) -> tuple[Block, ...]:
    """After an edit of the request: a hint that refining the existing function keeps its tests and costs less."""
    if not state.is_new_request:
        return ()
    hint = (
        "It is written from scratch. Add --refine to the first line to start from the existing function and keep its "
        "tests."
    )
    return (line(Span(hint, "muted"), Button("Refine it instead", "autocode-refine-cell")),)


def _differences(state: FunctionRun) -> tuple[Block, ...]:
    """How the values of the samples differ from the recorded ones."""
    shown = [line(Span(clipped(words, 600), "warn")) for words in state.drift[:MOST_DIFFERENCES]]
    more = len(state.drift) - MOST_DIFFERENCES
    return (*shown, *([muted(f"and {more:,} more, in {state.name}.drift")] if more > 0 else []))


def _samples(state: FunctionRun) -> tuple[str, ...]:
    """The samples that have only some of the rows of their tables."""
    of_database = {name for database in state.databases for name in database.tables}
    over = f"{state.name}.over({{name}}) computes all rows"
    return tuple(
        f"{name}: on {drawn.words}" + ("" if name in of_database else f"; {over.format(name=name)}")
        for name, drawn in state.drawn.items()
    )


def _databases(state: FunctionRun) -> tuple[Block, ...]:
    """The queries of the function in the dialect of its database, and how to let it send them."""
    found: list[Block] = []
    for database in state.databases:
        name = database.name
        found.append(line(f"{name} ({database.dialect}): {', '.join(database.tables)}; the outputs are of samples."))
        found += [line(Span(clipped(query, QUERY_CHARACTERS), "code")) for query in database.queries]
        if state.is_current and database.queries:
            allow = line(
                Span(f"%autocode reply {state.name} send {name}", "code"), Span("agrees to exactly this", "muted")
            )
            found += [allow, line(Span(f"{state.name}.run({name})", "code"), Span("runs it there", "muted"))]
    return tuple(found)


def _builds_on(state: FunctionRun) -> str:
    """The helpers, each with the beginning of its hash."""
    return ", ".join(f"{one.name} ({one.digest[:8]})" for one in state.helpers.given if one.kind != "built-in")


def _keeping(state: FunctionRun) -> tuple[Block, ...]:
    """The options that keep the existing function, with a button that adds them to the cell and runs it."""
    if not state.option:
        return ()
    option = clipped(state.option, 600)
    return (line(Span(option, "code"), Button("Rename and run", "autocode-option-cell", state.option)),)


def _changes(state: FunctionRun) -> tuple[Block, ...]:
    return change_blocks(state.changes, state.plan, state.outcomes) if state.plan and state.changes else ()


def _own(state: FunctionRun) -> tuple[Block, ...]:
    """The user's own tests. After a failure, the row *Failed* or the reason has their messages."""
    accepted = state.evidence.acceptance if state.evidence else ()
    return parts.checks(accepted, messages=state.phase not in _HAS_FAILURES)


def _failures(state: FunctionRun, reason: str) -> tuple[Block, ...]:
    """What failed; of a run under way that has the whole result of its last attempt."""
    if state.is_ready or state.phase not in _HAS_FAILURES or (state.evidence is None and state.phase not in _UNSOLVED):
        return ()
    return parts.failures(state.outcomes, state.evidence, reason, _first_failure(state))


def _best(state: FunctionRun) -> tuple[Block, ...]:
    """Where the code of a failed run is."""
    if state.phase not in _UNSOLVED or not state.solution or not parts.first_failure(state.outcomes, state.evidence):
        return ()
    where = muted("The best attempt is kept below, under Code.")
    return (where,)
