"""`AutoCoderAgent`, with `generate()`, for scripts and notebooks; and `load()` for functions that are recorded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.agent.arguments import ARGUMENTS, build_request, fetched_examples
from autocoder_jupyter.agent.asking import question_about, shared_as
from autocoder_jupyter.agent.constructor import Constructor
from autocoder_jupyter.agent.databases import connected, with_databases, with_tables
from autocoder_jupyter.agent.generation import generate_report, resolution_of
from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.agent.place import places
from autocoder_jupyter.agent.rules import Named, rules_for_script, with_rules
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, report_progress
from autocoder_jupyter.concurrency.syncified import Syncified
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.request import Request
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.run.events import Finished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.settings.parameters import flag, is_input_name, suggestion
from autocoder_jupyter.types import PlanQuestion, SampledDatabase
from autocoder_jupyter.types.of_flyte import all_fetched, declared_of_flyte
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.verification import shown


@dataclass(frozen=True, init=False, repr=False)
class AutoCoderAgent(Constructor):
    """Writes, tests and fixes functions. Immutable: threads can share it, and it can be used for many requests.

    The parameters are those of Flyte's `AutoCoderAgent`, plus limits for cost, tokens and time, the choice of the
    sandbox, and the sharing level. Lists and dicts are copied. No global state is set.
    """

    def __repr__(self) -> str:
        return f"AutoCoderAgent({self.name!r}, model={self.model!r})"

    @Syncified
    async def generate(
        self,
        prompt: str,
        schema: str | None = None,
        constraints: Iterable[str] | None = None,
        samples: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        *,
        checks: Iterable[str] | None = None,
        own_tests: str | None = None,
        examples: Iterable[tuple[Mapping[str, Any], Any]] | None = None,
        renames: Mapping[str, str] | None = None,
        split: str | None = None,
        rules: Named | None = None,
        helpers: Mapping[str, Any] | None = None,
        name: str | None = None,
        journal_root: str | os.PathLike[str] | None = None,
        answer: Callable[[PlanQuestion], str] | None = None,
    ) -> CodeGenEvalResult:
        """Generate a function and test it in a sandbox; `await agent.generate.aio(…)` on your own loop.

        There is no user to ask, so packages that are neither well known nor in `approved_packages` are declined.

        Args:
            prompt: the request.
            schema: free text about the data, sent to the model unchanged.
            constraints: sentences that must be true.
            samples: DataFrame, Series, `File` or `Dir` by name. The model gets a description of them, the function is
                run on them, and they are the defaults of `result.handle()`. Of a lazy frame, a query, a dataset, a
                frame of Dask and a path of Parquet files, at most 10,000 rows are drawn; `result.over(…)` computes all.
                A connection to a database stands for samples of the tables that the request names.
            inputs: classes or type names by name, such as `{"min_orders": int}`; an `InputSpec` for more details; a
                pandera schema or `DataFrameModel` for a table that must satisfy it.
            outputs: classes or type names by name; an `OutputSpec` for more details; a pandera schema for a table. By
                default the plan proposes them. A name may have a suffix (`"summary.csv": File`); its field in the
                result is then `summary_csv`.
            checks: Python expressions over inputs and outputs that must be true on the sample.
            own_tests: source of pytest functions that call `run(…)`. They are run first and are never changed.
            examples: pairs of inputs by name and the expected output: a value, or a dict of outputs by name. Outputs
                are compared by value.
            renames: names of columns in the data, by the names that the function reads. It is kept with the function.
            split: how the function must be able to be called for pieces of its largest table: `"rows"`, `"merge"`, or
                `"groups:customer"` with the columns whose equal values must stay together. This is tested.
            rules: the path of an `autocode.md`, or several, whose sections that apply are part of the request. By
                default those of the folder of `journal_root` and above it that `%autocode trust` has agreed to.
            helpers: functions, classes and modules of yours, and verified results, by the name under which the
                function may import them. Their source is passed to the sandbox, with what it needs.
            name: the name of the result and its folder in the journal; from the prompt by default.
            journal_root: the `.autocode` folder; beside the notebook, or in the current folder, by default.
            answer: answers a question of the plan, if the agent has `ask`; "" or None accepts the plan's assumption.
                Called on another thread.

        Returns:
            The result, also of a failure: check `success` and `error`.

        Raises:
            InvalidRequest: an argument is invalid.
            ContractBroken: a sample does not satisfy the schema of its input.
            AutocodeError: no generation is possible (no key, no sandbox, data that cannot cross).
        """
        given = {argument: value for argument, value in locals().items() if argument in ARGUMENTS}
        databases: tuple[SampledDatabase, ...] = ()
        root = default_journal_root() if journal_root is None else local_path(journal_root)
        files = rules_for_script(root.parent, rules, locked=self.locked)
        if isinstance(samples, Mapping):
            from autocoder_jupyter.data.sampling import sampled  # imports pandas

            values, databases = await with_tables(await all_fetched(connected(samples)), [prompt], lambda: files)
            given["samples"] = await sampled(values)
        if examples is not None:
            given["examples"] = await fetched_examples(examples)
        built = replace(build_request(prompt, name, **given), databases=databases)
        request = with_rules(with_databases(built), files)
        of_flyte = {field: kind for field, kind in (outputs or {}).items() if declared_of_flyte(kind)}
        # The engine has its own loop, so that a busy notebook does not block a stream, nor the engine the notebook.
        tracker = RunTracker(FunctionRun(request.name))
        report_progress(Awaited(request.name, lambda: tracker.run.doing, "interrupt to stop it"))
        work = background.submit(self._generated(request, root, tracker, answer))
        resolution = await asyncio.wrap_future(work)
        return CodeGenEvalResult(
            request.name,
            Pending.resolved(resolution),
            samples=request.samples,
            contracts=request.contracts,
            options=replace(CallOptions.of(self), given_back=of_flyte),
            root=root,
        )

    @Syncified
    async def answer(
        self,
        result: CodeGenEvalResult,
        question: str,
        /,
        *,
        rules: Named | None = None,
        journal_root: str | os.PathLike[str] | None = None,
        **inputs: Any,
    ) -> CodeGenEvalResult:
        """Answer a question about a verified function by another function, which may call it and is tested like any.

        Args:
            result: the function that the question is about.
            question: such as "Why did March fall?".
            rules: as for `generate`.
            journal_root: as for `generate`.
            **inputs: values by input name, instead of the samples of the result.

        Returns:
            A result whose function returns `answer`, one to three sentences, and `evidence`, the table behind them.

        Raises:
            InvalidRequest: the function was not verified here, or has no data.
        """
        given = await background.call_blocking(lambda: question_about(result, question, inputs))
        return await shared_as(result, self).generate.aio(**given, rules=rules, journal_root=journal_root)

    async def _generated(
        self,
        request: Request,
        root: Path,
        tracker: RunTracker[FunctionRun],
        answer: Callable[[PlanQuestion], str] | None,
    ) -> Resolution:
        async def decline(packages: tuple[str, ...]) -> bool:
            return False

        async def ask(questions: tuple[PlanQuestion, ...]) -> tuple[str, ...] | None:
            if answer is None:
                return None
            return await background.call_blocking(lambda: tuple(answer(question) for question in questions))

        journal = Journal(root, request.name)
        try:
            report = await generate_report(request, self, journal=journal, tracker=tracker, approve=decline, ask=ask)
        finally:
            tracker.finish(Finished("failed"))
        return resolution_of(report, tracker.last.state if tracker.last else None)


# `load`: a recorded function, callable without its cell and without a model

LONGEST = 500
"""Characters of the reason of a failed run."""


def load(
    name: str,
    version: int | str | None = None,
    *,
    journal_root: str | os.PathLike[str] | None = None,
    trusted: bool = False,
) -> CodeGenEvalResult:
    """A recorded function as a callable result: `growth = autocoder_jupyter.load("growth")`.

    No model is asked. The samples are not recorded, so a call needs all inputs. The function was verified on its
    original samples; its cell, or `verify` with other samples, verifies it on those. A function that no run of this
    user verified is `not_verified`: it can be called, and `verify` tests it.

    Args:
        name: the name of the result.
        version: its number in `%autocode history`, or its id; by default the version that counts.
        journal_root: the `.autocode` folder. By default the first that has the function: beside the notebook or in the
            current folder, beside the script that runs, or above these, up to the root of the project.
        trusted: whether packages that are not well known may be installed for it. The folder may be untrusted.

    Raises:
        InvalidRequest: there is no such function.
    """
    flag("trusted", trusted)
    roots = places() if journal_root is None else (local_path(journal_root),)
    for root in roots:
        versions = Versions(root, name)
        found = versions.last_good() if version is None else versions.numbered(str(version))
        if found is not None:
            return result_of(found, root, CallOptions(), trusted=trusted)
    known = {root: [other for other in Folder(root.parent).names(root.name) if is_input_name(other)] for root in roots}
    if version is None and (begun := next((root for root in roots if name in known[root]), None)) is not None:
        raise _unfinished(name, begun, Versions(begun, name))
    what = name if version is None else f"version {version} of {name}"
    here, *others = [root.absolute() for root in roots]
    also = f"These were looked at too: {', '.join(map(str, others))}." if others else ""
    way = "Run its cell first; only a finished function can be loaded. One of another folder: journal_root=…."
    raise InvalidRequest(
        f"There is no recorded {what} in {here}.",
        why=also,
        hint=suggestion(name, [other for names in known.values() for other in names]) or way,
    )


def loadable() -> list[str]:
    """The names of the functions that `load` finds, sorted."""
    known = {(root, name) for root in places() for name in Folder(root.parent).names(root.name) if is_input_name(name)}
    return sorted({name for root, name in known if _is_there(root, name)})


def _is_there(root: Path, name: str) -> bool:
    """Whether there is a function. One of a later version of this package is; `load` then says so."""
    try:
        return Versions(root, name).last_good() is not None
    except InvalidRequest:
        return True


def _unfinished(name: str, root: Path, versions: Versions) -> InvalidRequest:
    """The error for a name that is recorded without a good function."""
    what = f"No finished function of {name} is recorded in {root}."
    if versions.interrupted():
        return InvalidRequest(
            what,
            why="Its last run was interrupted.",
            hint="Run its cell again: it continues, and recorded answers are not paid for again.",
        )
    if failed := versions.all():
        why = f"Its last run failed. {visible_block(shown(versions, failed[-1])[1].error or '')[:LONGEST]}".strip()
        return InvalidRequest(what, why=why, hint="Run its cell again.")
    return InvalidRequest(what, why="Only functions can be loaded, no answers of --mode tools.", hint="Run its cell.")
