"""`%autocode reply`: answers what a job asks the user.

The questions of a plan are answered by their options' numbers, or in words. Any other answer begins with a word of
`ANSWERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from autocoder_jupyter.display.actions import silent_row, typed_consent
from autocoder_jupyter.display.card import QUERY_CHARACTERS, question_row
from autocoder_jupyter.display.verified import opinion_blocks
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import CodeJob
from autocoder_jupyter.jobs.job import SilenceAnswer
from autocoder_jupyter.magics.cell import launch, waits
from autocoder_jupyter.magics.command import Arguments, CellCommand
from autocoder_jupyter.magics.notebook import Notebook, NotebookJob, find_callable, find_job, find_waiting
from autocoder_jupyter.magics.progress import ask_at_prompt, read_answers
from autocoder_jupyter.magics.versions import refined_request
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import keep, question_key, run_of
from autocoder_jupyter.untrusted.visible import visible, visible_block
from autocoder_jupyter.view.as_text import blocks_text

if TYPE_CHECKING:
    from autocoder_jupyter.types import SecondOpinion

Answer = Callable[[Notebook, str, list[str], bool], None]
"""Gets the name, the words behind the first one, and whether `--always` is given."""


def reply(notebook: Notebook, arguments: Arguments) -> None:
    """Answer what is asked. Without an answer, show what that is."""
    name, *words = arguments.positional
    job = notebook.jobs.current(name)
    if job is not None and job.pending_questions is not None:
        _answer_plan(notebook, job, words)
        return
    if not words:
        _show(find_job(notebook, name))
        return
    if (answer := ANSWERS.get(words[0])) is None:
        raise InvalidRequest(
            f"{words[0][:40]!r} is no answer for {name}, which is {_state(notebook, name)}.",
            hint=f"An answer begins with {' or '.join(ANSWERS)}. %autocode reply {name} shows what it asks.",
        )
    always = bool(arguments.given.get("always"))
    if always and not (words[0] == "yes" and isinstance(job, CodeJob)):
        raise InvalidRequest(
            "--always is for a yes to calls of tools.", hint="-p in the cell installs packages without asking."
        )
    answer(notebook, name, words[1:], always)


def _state(notebook: Notebook, name: str) -> str:
    return find_job(notebook, name).state.replace("_", " ")


def _answer_plan(notebook: Notebook, job: NotebookJob, words: list[str]) -> None:
    """Answer the questions of a plan. Without answers, the user is asked one question after the other."""
    if not words and not notebook.is_headless:
        ask_at_prompt(job)
        return
    job.answer(read_answers(job.pending_questions or (), words))
    print(f"{job.name} continues with your answers.")


def _show(job: NotebookJob) -> None:
    """Show what a job asks: for consent, or which reading of its request is meant."""
    if job.pending_approval:
        print(visible(f"{job.tracker.run.asks} Write {typed_consent(job.tracker.run)}, or no."))
        return
    if job.tracker.run.silent:
        print("\n".join(map(visible, blocks_text((silent_row(job.tracker.run),)))))
        return
    if not job.done:
        print(f"{job.name} is {job.state.replace('_', ' ')} and asks nothing.")
        return
    asked = () if isinstance(job, CodeJob) else question_row(run_of(job.result.report, job.result.state)).blocks
    shown = blocks_text(asked or opinion_blocks(job.name, _opinion(job)))
    print("\n".join(map(visible, shown or [f"{job.name} has no second opinion."])))


def _allow(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
    """Allow the packages, or the tool call, that are named. They must be exactly those that it waits for."""
    job, waiting = find_waiting(notebook, name)
    run = job.tracker.run
    named = {word.strip(",") for word in words} - {""}
    if named != set(run.consent):
        but = f"not for {', '.join(sorted(named))}" if named else "and a yes names what it allows"
        raise InvalidRequest(
            visible(f"{job.name} waits for {', '.join(waiting)}, {but}."),
            hint=f"Write {typed_consent(run)}.",
        )
    if isinstance(job, CodeJob):
        allowed = job.approve(run.question, always=always)
        calls = f"{run.consent[0]} without asking until it is done" if always else waiting[0]
        said = f"{job.name} may call {calls}."
    else:
        allowed = job.approve(run.question)
        said = f"{job.name} may install {', '.join(waiting)}."
    if not allowed:
        raise InvalidRequest(f"{job.name} asks something else now.", hint=f"%autocode reply {job.name} shows it.")
    print(visible(said))


def _refuse(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
    """Refuse what a job waits for: it continues without the packages, and code gets an error instead of the call."""
    job, waiting = find_waiting(notebook, name)
    if words:
        raise InvalidRequest("A no takes no further words.", hint=f"Write %autocode reply {job.name} no.")
    job.decline()
    refused = ", ".join(waiting)
    is_call = isinstance(job, CodeJob)
    print(visible(f"{job.name} may not call {refused}." if is_call else f"{job.name} continues without {refused}."))


def _use(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
    """Refine a function to a reading that the second opinion found."""
    job = find_job(notebook, name)
    if not job.done:
        raise InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")
    if not words:
        _show(job)
        return
    opinion = _opinion(job)
    readings = opinion.readings if opinion else ()
    if not readings:
        raise InvalidRequest(
            f"There is no other reading of {name}.", hint="Describe the change in a cell with --refine."
        )
    number = " ".join(words)
    if number not in map(str, range(1, len(readings) + 1)):
        raise InvalidRequest(
            f"{name} has no reading {number[:40]!r}.", hint=f"Write a number from 1 to {len(readings)}."
        )
    chosen = readings[int(number) - 1]
    request = refined_request(CellCommand(name=name, prompt=chosen.line, refine=True), notebook)
    launch(notebook, request, notebook.config_again(job), waits=waits(notebook, notebook.settings()))


def _keep(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
    """Answer the question on the card of a function: it is right as it is."""
    if words:
        raise InvalidRequest("A keep takes no further words.", hint=f"Write %autocode reply {name} keep.")
    keep_as_it_is(notebook, name)
    print(f"{name} stays as it is, and is not asked about again while its code and these numbers stay the same.")


def keep_as_it_is(notebook: Notebook, name: str, question: str = "") -> None:
    """Answer what is asked about a function with *keep it as it is*.

    `question` is the key of the questions that were shown, so that no other ones are answered; "" for any.

    Raises:
        InvalidRequest: it is not ready, nothing is asked or something else, or the answer cannot be written.
    """
    result, started = find_callable(notebook, name), notebook.launched.get(name)
    if not result.done:
        raise InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")
    is_shown = started is not None and started.job.result is result
    state = started.card.state if is_shown and started else run_of(result.report, result.state)
    if not isinstance(state, FunctionRun) or not (asked := question_key(state)):
        raise InvalidRequest(f"Nothing is asked about {name}.")
    if question not in ("", asked):
        raise InvalidRequest(f"{name} asks something else now.", hint="Read the new question.")
    kept = keep(state)
    if is_shown and started:
        started.card.add(answered=kept.answered)


def _send(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
    """Agree to the queries of a function for one database, which is named by its variable."""
    from autocoder_jupyter.databases.connections import is_connection

    result = find_callable(notebook, name)
    if not result.done:
        raise InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")
    is_said = len(words) == 1 or words[1:] == ["yes"]
    given = notebook.namespace.get(words[0].removeprefix("@")) if is_said else None
    if not is_connection(given):
        raise InvalidRequest(
            f"send names the connection to which {name} may send its queries, and nothing else.",
            hint=f"Write %autocode reply {name} send db, with the name of your variable.",
        )
    found = result.queries_for(given)
    queries = (query for database in result.report.databases for query in database.queries)
    shown = {query for query in queries if len(query) <= QUERY_CHARACTERS}
    is_new = not shown.issuperset(found.texts.values()) and len(words) == 1
    print(visible(f"{name} {'would' if is_new else 'may'} send this to {found.connected.identity}, now and later:"))
    print("\n\n".join(map(visible_block, found.texts.values())))
    if is_new:  # the card has cut it, or has the queries for another database
        print(f"To agree, run %autocode reply {name} send {words[0]} yes")
        return
    found.agree()
    print(f"{name}.run({words[0].removeprefix('@')}) does.")


def _silent(answer: SilenceAnswer, said: str) -> Answer:
    """What is done about a model that has said nothing."""

    def act(notebook: Notebook, name: str, words: list[str], always: bool) -> None:
        job = find_job(notebook, name)
        if words:
            raise InvalidRequest(f"{answer} takes no further words.", hint=f"Write %autocode reply {name} {answer}.")
        if not job.answer_silence(answer):
            raise InvalidRequest(f"{name} waits for no model.", hint="%autocode status shows what it does.")
        print(f"{name} {said}")

    return act


def _opinion(job: NotebookJob) -> SecondOpinion | None:
    opinion: SecondOpinion | None = None if isinstance(job, CodeJob) else job.result.report.second_opinion
    return opinion


ANSWERS: Mapping[str, Answer] = {
    "yes": _allow,
    "no": _refuse,
    "use": _use,
    "keep": _keep,
    "send": _send,
    "wait": _silent("wait", "waits for the model."),
    "again": _silent("again", "asks the model again. The request that it had is cancelled."),
    "model": _silent("model", "ends. Write -m MODEL in its cell; %autocode setup shows models that can be asked."),
}
"""What gives an answer, by its first word."""
