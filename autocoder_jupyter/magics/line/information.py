"""Subcommands about models, settings, permissions, caches and the state of this machine; and the help text."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autocoder_jupyter import errors
from autocoder_jupyter.agent.rules import PART, TASKS, rule_files
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.doctor import examine, shown
from autocoder_jupyter.magics.help import full_help, help_text, option_help, subcommand_help
from autocoder_jupyter.magics.line import FORMER, SUBCOMMANDS
from autocoder_jupyter.magics.notebook import Notebook, versions_of
from autocoder_jupyter.magics.options import FLAGS, SETTINGS
from autocoder_jupyter.magics.permissions import FolderPermissions, collected, permission_rows
from autocoder_jupyter.magics.settings import NAME, suggestion
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.trust import agree, withdraw
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.store import VERSIONS
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.document import Block, Fold, Source, Table, muted
from autocoder_jupyter.view.markup import element, join

if TYPE_CHECKING:
    from autocoder_jupyter.evaluate.trial import TaskScore
    from autocoder_jupyter.request import AgentConfig


# `%autocode cache`: environments, images, outcomes and runs

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
    from autocoder_jupyter.calls import outcome_cache
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
        print(f"Outcomes of calls: {size_in_words(outcome_cache.clear())} freed.")
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
    from autocoder_jupyter.sandbox.docker.environments import sizes_of_images

    with suppress(AutocodeError):
        sizes = sizes_of_images()
        if sizes:
            note = "layers that images share are counted in each"
            yield counted(len(sizes), "Docker image"), size_in_words(sum(sizes)), "", note, ""


def _prune_images(before: float) -> int:
    from autocoder_jupyter.sandbox.docker.engine import find_engine
    from autocoder_jupyter.sandbox.docker.environments import clear_images

    with suppress(AutocodeError):
        return len(clear_images(find_engine(), before))
    return 0


def _outcomes() -> Row:
    from autocoder_jupyter.calls import outcome_cache

    count, size = outcome_cache.extent()
    bound = f"of calls; at most {size_in_words(outcome_cache.MAX_BYTES)}, {outcome_cache.MAX_OUTCOMES} outcomes"
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


# `%autocode trust`: permissions that a folder asks for

YES = "yes"


def trust(notebook: Notebook, arguments: Arguments) -> None:
    """Show the permissions that the folder asks for, and ask the user to grant them.

    Only a typed answer counts, because a notebook that somebody else wrote can contain this line.
    """
    if arguments.given.get("show") and arguments.given.get("withdraw"):
        raise InvalidRequest("--show and --withdraw cannot be used together.")
    if arguments.given.get("withdraw"):
        _withdraw(notebook)
        return
    found = collected(notebook)
    if not found:
        print("This folder needs no permission.")
    for asking in found:
        _show_permissions(notebook, asking)
        if not asking.agreed and not arguments.given.get("show"):
            _ask_permission(notebook, asking)


def _withdraw(notebook: Notebook) -> None:
    beside = notebook.journal_root.parent
    ruled = (file.path.parent for file in rule_files(beside))
    folders = dict.fromkeys((notebook.settings().folder, beside, *ruled))
    withdrawn = [folder for folder in folders if withdraw(folder)]
    for folder in withdrawn:
        print(f"{visible(folder)} is no longer trusted.")
    if not withdrawn:
        print("There was no permission to withdraw.")


def _show_permissions(notebook: Notebook, asking: FolderPermissions) -> None:
    how = "You agreed to this:" if asking.agreed else "You have not agreed to this, so it is not used:"
    title = f"{visible(asking.folder)} has settings or rules that need your permission. {how}"
    rows = permission_rows(asking.permissions)
    notebook.show(
        join(markup.text_lines([title]), markup.table(("asks for", "value", "if you agree"), rows)),
        f"{markup.plain(title)}\n{markup.columns(rows)}",
    )


def _ask_permission(notebook: Notebook, asking: FolderPermissions) -> None:
    if notebook.is_headless:
        raise InvalidRequest(
            "There is no user who could agree.",
            why="A notebook cannot agree by itself, because somebody else may have written it.",
            hint="Run %autocode trust in this folder in an interactive notebook. It applies to all runs here.",
        )
    try:
        answer = input(f"Type {YES} if you agree, anything else if not: ")
    except EOFError:
        answer = ""
    if answer.strip().casefold() != YES:
        print("You did not agree.")
        return
    agree(asking.folder, asking.permissions)
    print("You agreed. This is valid until one of these values changes. %autocode trust --withdraw withdraws it.")
    if (asking.folder / TASKS).is_dir() and any(one.part == PART for one in asking.permissions):
        print("%autocode rules test says which answers the rules change.")


# `%autocode models try [MODEL]`: tasks with known answers, with a budget that is asked for first


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
        max_cost, max_tokens = ask_budget(
            notebook, config, len(tasks), f"%autocode models try {config.model}", "The tables are ours, not yours."
        )

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


def ask_budget(
    notebook: Notebook, config: AgentConfig, count: int, line: str, note: str
) -> tuple[float | None, int | None]:
    """The budget for so many tasks that the user types: dollars, or tokens if the price is not known.

    Raises:
        InvalidRequest: no user can be asked, or none was given.
    """
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.evaluate.trial import USUAL_TOKENS
    from autocoder_jupyter.models.library import describe

    if notebook.is_headless:
        raise InvalidRequest(
            "Asking a model costs money, and there is no user who could set the budget.",
            hint=f"Write it: {line} --max-cost 1 (US dollars), or --max-tokens {count * USUAL_TOKENS}.",
        )
    known = describe(reached(config, config.model))
    price = known["input_price"]
    tokens = count * USUAL_TOKENS
    about = f"about ${tokens * max(price, known['output_price'] or 0) / 1e6:.2f} or less" if price is not None else ""
    usual = f"usually up to {tokens:,} tokens" + (f", {about}" if about else "; its price is not known")
    print(f"{count} small tasks will be sent to {visible(config.model)}: {usual}. {note}")
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


# Models, what `%autocode setup` shows, help


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


def show_check(notebook: Notebook) -> None:
    """Show which sandbox and model will be used, and why."""
    notebook.show(*shown(examine(notebook.settings())))


def show_settings(notebook: Notebook) -> None:
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
    """Show what is used most, all options and subcommands, one of them, a setting, or what an error means."""
    name = arguments.positional[0].removeprefix("%autocode").strip() if arguments.positional else ""
    if name in ("", "all", "more"):
        print(full_help() if name else help_text())
        return
    command = SUBCOMMANDS.get(FORMER[name].split()[0] if name in FORMER else name)
    if name in errors.kinds():
        print(errors.explanation(name))
    elif command is not None:
        print(subcommand_help(command))
    elif (option := FLAGS.get(name) or SETTINGS.get(name)) is not None:
        print(option_help(option))
    else:
        hint = suggestion(name, (*SUBCOMMANDS, *FLAGS, *SETTINGS, *errors.kinds()))
        raise InvalidRequest(f"There is no help about {visible(name)!r}.", hint=hint)


def _shown(value: object) -> str:
    """A value for the table. Of a dictionary only the keys, because the values may be secrets. Keys are masked."""
    if value is None:
        return "–"
    words = ", ".join(str(item) for item in value) if isinstance(value, tuple | list | dict) else str(value)
    return Masker().mask(words, secrets_only=True) or "–"
