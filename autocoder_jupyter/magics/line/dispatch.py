"""Run the subcommand of a line `%autocode …`, also for an answer of `--mode tools`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import CodeJob, CodeRecord, load_record
from autocoder_jupyter.magics.codemode.cell import launch_code, read_sent_messages, retried, state_of
from autocoder_jupyter.magics.command import Arguments, read_arguments, split_words, straight
from autocoder_jupyter.magics.line import FORMER, SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.line.results import show_timeline
from autocoder_jupyter.magics.notebook import (
    Notebook,
    find_job,
    is_answer,
    is_code_result,
    versions_of,
)
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.magics.versions import require_idle
from autocoder_jupyter.view import markup


def run_line(notebook: Notebook, line: str) -> None:
    """Run a line. Without a subcommand it is `status`."""
    words = _in_current_words(notebook, split_words(straight(line)) or ["status"])
    name = "help" if words[0] in ("-h", "--help", "?") else words[0]
    command = SUBCOMMANDS.get(name)
    if command is None:
        hint = suggestion(name, SUBCOMMANDS)
        raise InvalidRequest(
            f"There is no %autocode {name}.", hint=f"{hint} A cell magic has two percent signs: %%autocode."
        )
    flags = {flag: option for option in command.options for flag in option.flags}
    is_help = name == "help"  # its word may be an option
    arguments = Arguments(tuple(words[1:]), {}) if is_help else read_arguments(words[1:], flags)
    if not command.least <= len(arguments.positional) <= command.most:
        raise InvalidRequest(f"Write %autocode {command.name} {command.usage}".rstrip() + ".", why=_why(command))
    function = None
    if command.takes_name and arguments.positional and is_answer(notebook, arguments.positional[0]):
        _require_for_answers(command, arguments.positional[0])
        function = HANDLERS.get(command.name)
    if function is None:
        module = importlib.import_module(f"autocoder_jupyter.magics.line.{command.module}")
        function = getattr(module, command.name)
    function(notebook, arguments)


def _in_current_words(notebook: Notebook, words: list[str]) -> list[str]:
    """The words of a line, with the current spelling of a former subcommand; a hint names that once in a kernel."""
    former, *rest = words
    if former not in FORMER:
        return words
    place = next((index for index, word in enumerate(rest) if not word.startswith("-")), len(rest))
    name, behind = rest[place : place + 1], rest[:place] + rest[place + 1 :]
    if former == "approve" and name and behind in ([], ["--always"]):  # it named nothing
        job = notebook.jobs.current(name[0])
        behind = [*(job.tracker.run.consent if job is not None else ()), *behind]
    notebook.print_hints(
        [f"%autocode {former} is now %autocode {FORMER[former]}. The old spelling works for one more release."]
    )
    written = {"NAME": name, "…": behind}
    return [each for word in FORMER[former].split() for each in written.get(word, [word])]


def _why(command: Subcommand) -> str:
    return f"Purpose: {command.help}."


def _require_for_answers(command: Subcommand, name: str) -> None:
    """Refuse a subcommand that does not apply to answers of `--mode tools`."""
    if "tools" not in command.modes:
        raise InvalidRequest(
            f"%autocode {command.name} does not apply to {name}, which is an answer of --mode tools.",
            why=f"It is only for functions: {command.help}.",
            hint=f"%autocode show {name} shows what it is.",
        )


# Subcommands for answers of `--mode tools`, where they differ from those for functions

LONGEST = 160
"""Characters of a message that a table shows."""


def show(notebook: Notebook, arguments: Arguments) -> None:
    """Show the card of an answer, its code, or its steps."""
    name = arguments.positional[0]
    for part in ("tests", "report", "trace"):
        if arguments.given.get(part):
            raise InvalidRequest(
                f"--{part} does not apply to {name}: it is an answer of --mode tools.",
                hint="Without any, all is shown; --code, --timeline and --sent show a part.",
            )
    if arguments.given.get("sent"):
        _show_sent(notebook, name)
        return
    result = notebook.namespace.get(name)
    if not is_code_result(result):
        job = notebook.jobs.current(name)
        result = job.result if job is not None else None
    if result is None:
        _show_recorded(notebook, name)
    elif not result.done:
        raise InvalidRequest(f"{name} is not done yet.", hint=f"{name}.wait() waits for it.")
    elif arguments.given.get("timeline"):
        show_timeline(notebook, name, result.result.timeline, result.result.seconds)
    elif arguments.given.get("code"):
        code = "\n\n".join(block.code.strip("\n") for block in result.blocks)
        notebook.show(markup.python(code) or markup.muted("No code was run."), markup.plain(code))
    else:
        state = state_of(result)
        notebook.show(card_html(state), card_text(state))


def _show_recorded(notebook: Notebook, name: str) -> None:
    record = _record(notebook, name)
    text = f"{record.summary}\n\nRun its cell to get its value. Recorded calls are not made again."
    notebook.show(markup.code(text), markup.plain(text))


def retry(notebook: Notebook, arguments: Arguments) -> None:
    """Ask the model the same request again, and call the tools again."""
    name, *words = arguments.positional
    if words:
        raise InvalidRequest(f"{name} is sent again with its own data.", hint=f"Write %autocode retry {name}.")
    job = notebook.jobs.current(name)
    if not isinstance(job, CodeJob):
        raise InvalidRequest(
            f"{name} was not run in this kernel, so its tools are not known.",
            hint="Run its cell; with --refresh the model is asked again.",
        )
    launch_code(notebook, retried(job.request), notebook.settings())


def _show_sent(notebook: Notebook, name: str) -> None:
    """Show the last request that the run sent to the model."""
    job = find_job(notebook, name)
    sent = read_sent_messages(notebook.journal_root, job) if isinstance(job, CodeJob) else ""
    if not sent:
        raise InvalidRequest(
            f"The journal has nothing that {name} sent in this kernel.",
            hint="--dry-run in the cell shows what would be sent.",
        )
    notebook.show(markup.code(sent), markup.plain(sent))


def history(notebook: Notebook, arguments: Arguments) -> None:
    """Show the messages of the conversation so far."""
    name = arguments.positional[0]
    job = notebook.jobs.current(name)
    if job is not None and not job.done:
        raise InvalidRequest(f"{name} is not done yet.", hint=f"{name}.wait() waits for it.")
    messages = job.result.history if job is not None else _record(notebook, name).history
    rows = list(_rows(messages))
    notebook.show(markup.table(("", "from", "message"), rows), markup.columns(rows))


def _rows(messages: tuple[dict[str, str], ...]) -> Iterator[tuple[str, str, str]]:
    who = {"user": "you, or the output of code", "assistant": "the model"}
    for number, message in enumerate(messages, 1):
        text = " ".join(message["content"].split())
        yield str(number), who[message["role"]], text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def versions(notebook: Notebook, arguments: Arguments) -> None:
    """Remove the record of a conversation from disk."""
    name, *words = arguments.positional
    if words != ["remove"] or not arguments.given.get("all"):
        raise InvalidRequest(
            f"{name} has no versions.", hint=f"%autocode versions {name} remove --all removes its record."
        )
    require_idle(notebook, name)
    record = load_record(notebook.journal_root, name)
    versions_of(notebook, name).remove_all()
    kept = record.conversation if record is not None and record.conversation != name else ""
    hint = f" Its tool calls are recorded with {kept}, the conversation that it continued." if kept else ""
    print(f"The record of {name} is removed.{hint}")


def _record(notebook: Notebook, name: str) -> CodeRecord:
    record = load_record(notebook.journal_root, name)
    if record is None:
        raise InvalidRequest(f"The journal has no finished run of {name}.", hint="Run its cell.")
    return record


HANDLERS: dict[str, Callable[[Notebook, Arguments], None]] = {
    function.__name__: function for function in (show, retry, history, versions)
}
"""The functions by the name of their subcommand, where they differ from those for functions."""
