"""Subcommands that show models, settings, the state of this machine, and the help text."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.doctor import examine, shown
from autocoder_jupyter.magics.help import help_text, subcommand_help
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.notebook import Notebook, NotebookJob, is_code_result, is_ours, is_result
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.settings import NAME, did_you_mean
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.versions.store import VERSIONS
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.document import Block, Fold, Source, Table, muted
from autocoder_jupyter.view.markup import element

if TYPE_CHECKING:
    from autocoder_jupyter.evaluate.trial import TaskScore
    from autocoder_jupyter.request import AgentConfig
    from autocoder_jupyter.versions import Version, Versions


# Find a job, a result or a version by the name that the user typed.


def find_job(notebook: Notebook, name: str) -> NotebookJob:
    """The newest job of a name.

    Raises:
        InvalidRequest: this kernel has no job of that name.
    """
    job = notebook.jobs.current(name)
    if job is None:
        raise _unknown(name, "job", (known.name for known in notebook.jobs.all_jobs()))
    return job


def find_waiting(notebook: Notebook, name: str) -> tuple[NotebookJob, tuple[str, ...]]:
    """The newest job of a name, and the packages that it waits for.

    Raises:
        InvalidRequest: there is no such job, or it does not wait for an approval.
    """
    job = find_job(notebook, name)
    packages = tuple(job.pending_approval or ())
    if not packages:
        raise InvalidRequest(f"{name} waits for no approval; it is {job.state.replace('_', ' ')}.")
    return job, packages


def find_result(notebook: Notebook, name: str) -> Any:
    """The variable of that name, else the result of its newest job, else the report of its last run on disk.

    Raises:
        InvalidRequest: there is none.
    """
    value = notebook.namespace.get(name)
    if is_ours(value):
        return value
    job = notebook.jobs.current(name)
    if job is not None:
        return job.result
    versions = versions_of(notebook, name)
    if (counting := versions.last_good()) is not None or (recorded := versions.all()):
        return counting.report if counting is not None else recorded[-1].report
    if versions.interrupted():
        raise InvalidRequest(
            f"{name} was interrupted before it was finished.", hint=f"%autocode retry {name} continues it."
        )
    root = notebook.journal_root
    on_disk = filter(is_input_name, Folder(root.parent).names(root.name))
    bound = (known for known, held in notebook.namespace.items() if is_ours(held) and not known.startswith("_"))
    raise _unknown(name, "result", (*bound, *on_disk))


def is_answer(notebook: Notebook, name: str) -> bool:
    """Whether a name belongs to an answer of `--mode tools`: by its newest job, its variable, or the record."""
    job = notebook.jobs.current(name)
    if job is not None:
        return is_code_result(job.result)
    if is_ours(notebook.namespace.get(name)):
        return is_code_result(notebook.namespace[name])
    from autocoder_jupyter.jobs.code_job import load_record

    return name.isidentifier() and load_record(notebook.journal_root, name) is not None


def find_callable(notebook: Notebook, name: str) -> Any:
    """Like `find_result`, but a result that can be called and exported.

    Raises:
        InvalidRequest: there is none, or only a report.
    """
    result = find_result(notebook, name)
    if not is_result(result):
        raise InvalidRequest(
            f"{name!r} exists only in the journal.",
            hint=f'Run its cell, or write {name} = autocoder_jupyter.load("{name}").',
        )
    return result


def versions_of(notebook: Notebook, name: str) -> Versions:
    """The recorded versions of a name."""
    from autocoder_jupyter.versions import Versions

    return Versions(notebook.journal_root, name)


def last_run(notebook: Notebook, name: str) -> str:
    """The id of the newest run, finished or not; "" if there is none."""
    versions = versions_of(notebook, name)
    interrupted = versions.interrupted()
    finished = [version.id for version in versions.all()]
    return (interrupted or finished or [""])[-1]


def is_running_elsewhere(notebook: Notebook, name: str, run: str) -> bool:
    """Whether another kernel of this machine is working on an unfinished run."""
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.versions.request_lock import is_held, lock_of

    return is_held(lock_of(cache_folder(), notebook.journal_root, name, run.partition("-")[0]))


def find_version(notebook: Notebook, name: str, word: str) -> Version:
    """A recorded version, by its number or by the beginning of its id."""
    versions = versions_of(notebook, name)
    found = versions.numbered(word)
    if found is None:
        known = len(versions.all())
        if not known:
            find_result(notebook, name)
        recorded = f"Versions 1 to {known}" if known > 1 else "Version 1" if known else "None"
        raise InvalidRequest(
            f"There is no version {word!r} of {name}.",
            hint=f"{recorded} recorded: %autocode history {name}.",
        )
    return found


def _unknown(name: str, what: str, known: Iterable[str]) -> InvalidRequest:
    return InvalidRequest(f"There is no {what} named {name!r}.", hint=did_you_mean(name, sorted(set(known))))


# `%autocode cache`: show the size and last use of environments, images, outcomes and runs, and remove unused ones.


Row = tuple[str, str, str, str, str]

_LISTED = 20
"""Maximum number of environments that are listed one by one."""

_WITH_THE_BASE = frozenset({"iniconfig", "packaging", "pluggy", "pygments", "python-dateutil", "six", "tzdata"})
"""Packages that the base packages depend on."""

_DAY = 24 * 3600.0


def cache(notebook: Notebook, arguments: Arguments) -> None:
    """Show what is cached, or remove what is not used."""
    word = arguments.positional[0] if arguments.positional else ""
    flags = [f"--{flag}" for flag in ("all", "runs") if arguments.given.get(flag)]
    if word not in ("", "prune"):
        raise InvalidRequest(f"%autocode cache has no {visible(word)!r}.", hint="Write %autocode cache prune.")
    if flags and not word:
        raise InvalidRequest(f"{' '.join(flags)} is only for prune.", hint="Write %autocode cache prune.")
    if word:
        _prune(notebook, everything=bool(arguments.given.get("all")), runs=bool(arguments.given.get("runs")))
        return
    rows = [*_environments(), *_images(), _outcomes(), *_runs(notebook)]
    headings = ("kept", "size", "last used", "", "")
    notebook.show(markup.table(headings, rows), markup.columns([headings, *rows]))


def _prune(notebook: Notebook, *, everything: bool, runs: bool) -> None:
    from autocoder_jupyter.calls import function
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.sandbox.environments import installed
    from autocoder_jupyter.versions import request_lock

    now = time.time()
    unused_since = now + 1 if everything else now - installed.UNUSED_DAYS * _DAY
    before = sum(one.bytes for one in installed.local_environments())
    installed.clear_local(unused_since)
    request_lock.remove_old(cache_folder(), unused_since)
    installed.prune_local(most=0 if everything else installed.most_bytes())
    left = installed.local_environments()
    print(f"Environments: {size_in_words(before - sum(one.bytes for one in left))} freed, {len(left)} left.")
    if everything:
        print(f"Outcomes of calls: {size_in_words(function.clear())} freed.")
    removed = _prune_images(now if everything else now - installed.UNUSED_DAYS * _DAY)
    if removed:
        print(f"Docker images: {counted(removed, 'image')} removed.")
    if runs:
        print(f"Failed runs: {counted(_prune_runs(notebook), 'run')} removed.")


def _environments() -> Iterator[Row]:
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.sandbox.environments import installed

    found = installed.local_environments()
    size = sum(one.bytes for one in found)
    bound = (
        f"at most {size_in_words(installed.most_bytes())} (AUTOCODE_CACHE_SIZE), {installed.UNUSED_DAYS} days unused"
    )
    yield counted(len(found), "environment"), size_in_words(size), "", bound, str(cache_folder())
    for one in found[:_LISTED]:
        state = "in use" if one.in_use else ""
        yield f"  {one.folder.name[:8]}", size_in_words(one.bytes), _ago(one.used), state, _packages(one.folder)


def _packages(folder: Path) -> str:
    """The packages of an environment that are not base packages."""
    from autocoder_jupyter.sandbox.environments.locking import BASE_PACKAGES, name_of

    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        names = [name_of(line) for line in json.loads((folder / "autocode.json").read_text("utf-8"))["lock"]]
        more = [name for name in names if name not in BASE_PACKAGES and name not in _WITH_THE_BASE]
        listed = ", ".join(more[:6]) + (f" and {len(more) - 6} more" if len(more) > 6 else "")
        return visible(listed) or "the base packages"
    return "damaged"


def _images() -> Iterator[Row]:
    from autocoder_jupyter.sandbox.docker.sandbox import sizes_of_images

    with suppress(AutocodeError):
        sizes = sizes_of_images()
        if sizes:
            note = "layers that images share are counted in each"
            yield counted(len(sizes), "Docker image"), size_in_words(sum(sizes)), "", note, ""


def _prune_images(before: float) -> int:
    from autocoder_jupyter.sandbox.docker.engine import find_engine
    from autocoder_jupyter.sandbox.docker.sandbox import clear_images

    with suppress(AutocodeError):
        return len(clear_images(find_engine(), before))
    return 0


def _outcomes() -> Row:
    from autocoder_jupyter.calls import function

    count, size = function.extent()
    bound = f"of calls; at most {size_in_words(function.MAX_BYTES)}, {function.MAX_OUTCOMES} outcomes"
    return counted(count, "outcome"), size_in_words(size), "", bound, ""


def _runs(notebook: Notebook) -> Iterator[Row]:
    """The runs of this folder, one row per name. Runs are never removed automatically."""
    from autocoder_jupyter.sandbox.environments.installed import modified, size_of

    root = notebook.journal_root
    homes = [] if root.is_symlink() else root.glob("*")
    for home in sorted(path for path in homes if path.is_dir() and not path.is_symlink()):
        below = home / VERSIONS
        moved = below.iterdir() if below.is_dir() and not below.is_symlink() else ()
        runs = [path for path in (*home.iterdir(), *moved) if path.is_dir() and path != below]
        newest = max(map(modified, runs), default=0.0)
        what, size = f"{counted(len(runs), 'run')} of {visible(home.name)}", size_in_words(size_of(home, set()))
        yield what, size, _ago(newest), "kept until you remove them", ""


def _prune_runs(notebook: Notebook) -> int:
    """Remove recorded runs that ended without a function. Running jobs and all functions are kept."""
    from autocoder_jupyter.sandbox.worker import removal

    removed = 0
    for home in notebook.journal_root.glob("*"):
        if not home.is_dir() or home.is_symlink():
            continue
        job = notebook.jobs.current(home.name)
        for version in versions_of(notebook, home.name).all():
            versions = versions_of(notebook, home.name)
            folder, run_id = notebook.journal_root.parent / versions.path(version.id), version.id
            if (
                version.report.success
                or folder.is_symlink()
                or (job is not None and not job.done and job.run_id == run_id)
            ):
                continue
            removal.remove(folder)
            removed += not folder.exists()
            versions.show_current()
    return removed


def size_in_words(size: int) -> str:
    """`0 MB`, `475 MB`, `3.5 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _ago(when: float) -> str:
    days = int(max(time.time() - when, 0.0) // _DAY)
    return "never" if not when else "today" if not days else f"{counted(days, 'day')} ago"


# `%autocode models try [MODEL]`: run the tasks with known answers, with a budget that is asked for first.


def try_models(notebook: Notebook, arguments: Arguments) -> None:
    """Run the tasks with a model and show the table."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models import preflight

    model = arguments.positional[1] if len(arguments.positional) > 1 else notebook.settings()["model"]
    config = notebook.settings({"model": model}).agent_config()
    preflight.check(reached(config, model))
    given = arguments.given
    max_cost, max_tokens = given.get("max_cost"), given.get("max_tokens")

    from autocoder_jupyter.evaluate.trial import SHIPPED, SPENT, markdown, read_tasks, try_model

    tasks = read_tasks(SHIPPED)
    if max_cost is None and max_tokens is None:
        max_cost, max_tokens = _asked(notebook, config, len(tasks))

    scores: list[TaskScore] = []

    def hear(score: TaskScore) -> None:
        scores.append(score)
        words = "right" if score.on_sample and score.on_new_rows else f"failed: {score.failed_stage}"
        if score.failed_stage != SPENT:
            print(f"{score.task}: {words}, {score.tokens:,} tokens, {score.seconds:.0f} s", flush=True)

    config = dataclasses.replace(config, max_cost=None, max_tokens=None)
    try:
        try_model(tasks, config, max_cost=max_cost, max_tokens=max_tokens, hear=hear)
    finally:  # also after an interrupt: these are paid for
        if scores:
            page = element("div", blocks_html(_blocks(scores, config)), look="text spaced")
            notebook.show(page, markdown(scores, config))


def _blocks(scores: Sequence[TaskScore], config: AgentConfig) -> tuple[Block, ...]:
    """The tables for the page. Tasks for which the budget was too small are named once, below."""
    from autocoder_jupyter.evaluate.trial import MODEL_HEADINGS, SPENT, TASK_HEADINGS, markdown, model_rows, task_rows

    tried = task_rows([score for score in scores if score.failed_stage != SPENT])
    unfinished = ", ".join(score.task for score in scores if score.failed_stage == SPENT)
    # All tasks are of the model that the first table names.
    tasks = Table(TASK_HEADINGS[1:], tuple(row[1:] for row in tried), _numeric(TASK_HEADINGS[1:]), "tasks")
    return (
        Table(MODEL_HEADINGS, tuple(model_rows(scores)), _numeric(MODEL_HEADINGS), "model"),
        *((tasks,) if tried else ()),
        *((muted(f"The budget was too small for: {unfinished}."),) if unfinished else ()),
        Fold("Markdown, for an issue", (Source(markdown(scores, config)),)),
    )


def _numeric(headings: Sequence[str]) -> tuple[bool, ...]:
    return tuple(heading in ("tokens", "dollars", "seconds") for heading in headings)


def _asked(notebook: Notebook, config: AgentConfig, count: int) -> tuple[float | None, int | None]:
    """The budget that the user types: dollars, or tokens if the price is not known."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.evaluate.trial import USUAL_TOKENS
    from autocoder_jupyter.models.library import describe

    line = f"%autocode models try {config.model}"
    if notebook.is_headless:
        raise InvalidRequest(
            "A trial of a model costs money, and there is no user who could set the budget.",
            hint=f"Write it: {line} --max-cost 1 (US dollars), or --max-tokens {count * USUAL_TOKENS}.",
        )
    known = describe(reached(config, config.model))
    price = known["input_price"]
    tokens = count * USUAL_TOKENS
    about = f"about ${tokens * max(price, known['output_price'] or 0) / 1e6:.2f} or less" if price is not None else ""
    usual = f"usually up to {tokens:,} tokens" + (f", {about}" if about else "; its price is not known")
    print(f"{count} small tasks will be sent to {visible(config.model)}: {usual}. The tables are ours, not yours.")
    unit = "tokens" if price is None else "US dollars"
    try:
        answer = input(f"How many {unit} may it spend at most? (Enter alone: send nothing) ").strip().replace(",", "")
    except EOFError:
        answer = ""
    try:
        amount = float(answer)
    except ValueError:
        amount = 0.0
    if not (math.isfinite(amount) and amount > 0):
        raise InvalidRequest("Nothing was sent.", why="No budget was given.", hint=f"{line} --max-cost 1")
    return (None, int(amount)) if price is None else (amount, None)


# What the docstring of this file says.


def models(notebook: Notebook, arguments: Arguments) -> None:
    """Show the configured model, and the names of other models; or try a model."""
    if arguments.positional[:1] == ("try",):
        try_models(notebook, arguments)
        return
    if arguments.given or len(arguments.positional) > 1:
        raise InvalidRequest("A model or a budget is only for a trial.", hint="Write %autocode models try MODEL.")
    from autocoder_jupyter.models.catalogue import known_models

    settings = notebook.settings()
    provider = arguments.positional[0] if arguments.positional else settings["model"].partition("/")[0]
    names = known_models(provider)
    print(f"{_shown(settings['model'])} is used ({settings.origins['model']}).")
    if not names:
        print(f"No models of {_shown(provider)!r} are known; any name that litellm accepts can be tried.")
        return
    notebook.show(markup.code("\n".join(names)), markup.plain("\n".join(names)))


def doctor(notebook: Notebook, arguments: Arguments) -> None:
    """Show which sandbox and model will be used, and why."""
    notebook.show(*shown(examine(notebook.settings())))


def config(notebook: Notebook, arguments: Arguments) -> None:
    """Show every setting with its value and where the value comes from."""
    settings = notebook.settings()
    refused = notebook.traits.refused
    waiting = {
        permission.name: f"{NAME}, not trusted, asks for {visible(permission.value)}" for permission in settings.waiting
    }
    rows = [
        (
            name,
            _shown(settings[name]),
            settings.origins[name],
            f"refused: {refused[name]}" if name in refused else waiting.get(name, option.help),
        )
        for name, option in SETTINGS.items()
    ]
    notebook.show(markup.table(("setting", "value", "from", ""), rows), markup.columns(rows))


def help(notebook: Notebook, arguments: Arguments) -> None:
    """Show all options and subcommands, or one subcommand."""
    if not arguments.positional:
        print(help_text())
        return
    name = arguments.positional[0].removeprefix("%autocode").strip()
    command = SUBCOMMANDS.get(name)
    if command is None:
        raise InvalidRequest(f"There is no %autocode {name}.", hint=did_you_mean(name, SUBCOMMANDS))
    print(subcommand_help(command))


def _shown(value: object) -> str:
    """A value for the table. Of a dictionary only the keys, because the values may be secrets. Keys are masked."""
    if value is None:
        return "–"
    words = ", ".join(str(item) for item in value) if isinstance(value, tuple | list | dict) else str(value)
    return Masker().mask(words, secrets_only=True) or "–"
