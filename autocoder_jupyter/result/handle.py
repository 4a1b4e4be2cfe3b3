"""The result of a generation. It is bound to its name at once: first pending, later the function with its evidence."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from autocoder_jupyter.calls.binding import misfit
from autocoder_jupyter.calls.call import call, fetched, on_this_machine, require_output
from autocoder_jupyter.calls.callable import Called, DocumentationOfInstance, Live, SignatureOfInstance
from autocoder_jupyter.calls.function import Function, Interface, SplitWatch, ValueWatch
from autocoder_jupyter.calls.options import CallOptions, GivenOptions, TaskOptions, taking
from autocoder_jupyter.calls.row_counts import AnsweredCall
from autocoder_jupyter.calls.stability import conclusion_of, stability_of
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.syncified import Syncified
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.request import Contract
from autocoder_jupyter.result import storage
from autocoder_jupyter.result.pending import Pending, PendingResult, ReportFields, Resolution
from autocoder_jupyter.run.of_report import RUNNING, headline, run_of
from autocoder_jupyter.scaling.mapped import LastMap
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.tasks.task import Task
from autocoder_jupyter.types import Report, RowsUsed, Stability
from autocoder_jupyter.types.interface import KnownSplits, Split
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.calls.database import Sending
    from autocoder_jupyter.scaling.map import Map
    from autocoder_jupyter.scaling.over import Over


# `growth.run`: a call before the function is ready waits


class Run(Called):
    """Call it, or await its `.aio`, with the inputs by position or name. Once ready, it can be pickled as a task.

    Args:
        ready: waits for the function and returns it.
    """

    def __init__(
        self,
        name: str,
        interface: Interface,
        options: CallOptions,
        ready: Callable[[], Awaitable[Function]],
        as_task: Callable[[], Task],
        *,
        word: str = "run",
    ) -> None:
        super().__init__(f"{name}.{word}", interface, options)
        self._ready = ready
        self._as_task = as_task

    async def _function(self) -> Function:
        return await self._ready()

    def __reduce__(self) -> tuple[Any, ...]:
        return self._as_task().__reduce__()


# The result

_LONGEST_REASON = 200
"""Characters of the reason of a failure in `repr`."""

ExportKind = Literal["script", "plain", "package", "flyte"]
"""What an export writes."""


class CodeGenEvalResult(ReportFields, PendingResult[Resolution]):
    """The result of a generation: first pending; then `run()` calls the tested function in its sandbox.

    `state`, `done` and `repr` never wait. `wait()` and `await` return the result when the generation has ended, with
    or without success; they raise only the exception of the generation itself (no key, no sandbox, cancelled). Every
    other field waits until the function is verified, and can be read after any end. `run()` raises `GenerationFailed`
    if there is no function that passed.

    A verified function can be used at once, in a notebook, while its second opinion still runs: `state` is `ready`, and
    `done` is False. If the second opinion changes the function, the fields wait for the new one, and `last_good` is the
    one before.

    If the name had a good function before, `last_good` is that earlier result until this one is ready. Until then
    `run()` works as follows:

    - While this generation runs, a call waits, so that *Run All* never calls the function of another request. Only if
      the same request is generated again (`--refresh`, `%autocode retry`), the earlier function is called at once.
    - After this generation has failed or was cancelled, the earlier function is called. A call that was already
      waiting for the new function raises the error instead.

    Each call of the earlier function gives an `EarlierVersionWarning`. The defaults of its arguments are the samples
    of this generation, never those of the earlier one.

    Args:
        name: its name.
        pending: the pending outcome.
        samples: captured values by input name; the defaults of `run()`.
        options: the options of calls.
        root: the `.autocode` folder.
        declared: the known part of the interface before the function is ready.
        before: returns the earlier good result of the name, if there is one.
        answers_meanwhile: whether calls use the earlier function while this generation runs.
        contracts: schemas that inputs and outputs must satisfy in each call.
    """

    __doc__ = DocumentationOfInstance(__doc__)

    __slots__ = (
        "_answers_meanwhile",
        "_before",
        "_built_from",
        "_contracts",
        "_declared",
        "_function",
        "_last_map",
        "_options",
        "_samples",
        "_splits",
        "_watch",
    )

    def __init__(
        self,
        name: str,
        pending: Pending[Resolution],
        *,
        samples: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
        root: Path = Path(".autocode"),
        declared: Interface | None = None,
        before: Callable[[], CodeGenEvalResult | None] = lambda: None,
        answers_meanwhile: bool = False,
        contracts: Mapping[str, Contract] | None = None,
    ) -> None:
        super().__init__(name, pending, root)
        self._samples = dict(samples or {})
        self._options = options or CallOptions()
        self._declared = declared or Interface(f"{name} is not ready yet.")
        self._before = before
        self._answers_meanwhile = answers_meanwhile
        self._contracts = dict(contracts or {})
        self._function: Function | None = None
        self._built_from: Report | None = None
        self._last_map = LastMap()
        self._watch = ValueWatch()
        self._splits = SplitWatch()

    @property
    def report(self) -> Report:
        """The report, as one record of plain data. Waits until the function can be used, or there is none; does not
        raise the exception of the generation. While a second opinion runs, it says so in `second_opinion`.
        """
        return self._pending.wait(until_usable=True).report

    @property
    def original_samples(self) -> Mapping[str, Any]:
        """The captured samples; the defaults of `run()`."""
        return dict(self._samples)

    @property
    def contracts(self) -> Mapping[str, Any]:
        """The user's schemas by input or output. Each call validates its tables against them."""
        return {name: contract.given for name, contract in self._contracts.items()}

    @property
    def contracts_in_force(self) -> Mapping[str, Contract]:
        """The contracts with their records."""
        return dict(self._contracts)

    @property
    def options(self) -> CallOptions:
        """The options of calls: limits, network, variables."""
        return self._options

    @property
    def drift(self) -> tuple[str, ...]:
        """How the values of data differ from those with which the function was made, one sentence for each difference.

        Those of today's samples come first, then those of the calls of this process, with the lines that keep another
        share of the rows. A call warns of each once. The last sentences say if calls were not compared, or their rows
        not counted, because that took its part of the time.
        """
        return (*self.report.drift, *self._watch.warnings.values(), *self._watch.remarks)

    @property
    def last_good(self) -> CodeGenEvalResult | None:
        """The good result of the name: this one if it is ready, else the earlier one, if any. Never waits."""
        return self if self._is_good else self._before()

    @property
    def _is_good(self) -> bool:
        return self.is_usable and self.report.success

    @property
    def can_be_called(self) -> bool:
        """Whether there is a function to call: one that passed, or a recorded one that is not verified here. Never
        waits.
        """
        return self._is_good or self._is_unverified

    @property
    def _is_unverified(self) -> bool:
        """Whether it is a recorded function whose evidence was not gathered here. It can be called."""
        return self.state == "not_verified"

    # The function

    @Live
    def run(self) -> Run:
        """The function: call `result.handle(df)`, or `await result.run.aio(df)` on your own loop.

        Its arguments are the inputs, by position or name, and options of this call: `name`, `resources`, `retries`,
        `timeout`, `env_vars`, `secrets`, `cache`, `reuse`, `output_dir`, `tables`. If an input has the name of an
        option, the argument is the input; use `with_options` for the option. A missing input is taken from the
        samples. `run` has the signature and the docstring of the function; while that is pending, those of the
        declared interface.

        A call returns a single output itself, several as a named tuple in declared order (the field of `summary.csv`
        is `summary_csv`). It raises `GenerationFailed` if there is no function that passed, `InvalidRequest` or
        `DataDrift` if the arguments do not fit (nothing ran), `ContractBroken` if a table does not satisfy its schema,
        and `SandboxError` if the program or its sandbox failed.
        """
        stand_in = self._stand_in()
        if stand_in is None:
            return Run(self.name, self.interface, self._options, self._ready, self._task)

        async def from_before() -> Function:
            return stand_in

        return Run(self.name, stand_in.interface, self._options, from_before, self._task)

    @Live
    def draft(self) -> Run:
        """The code as soon as it is written, for use before its tests have ended: `result.draft(df)`.

        It runs in the sandbox, as `run` does, and its first call gives a `NotVerifiedWarning`. Once the function is
        verified, this is that function; after a failure, it is the best attempt.
        """
        return Run(self.name, self.interface, self._options, self._drafted, self._task, word="draft")

    def ask(self, question: str, /, **inputs: Any) -> CodeGenEvalResult:
        """Ask a question about what this function found, in a notebook: `growth.ask("Why did March fall?")`.

        Another function answers it, which may call this one and is tested like any. It returns `answer`, one to three
        sentences, and `evidence`, the table behind them; its name begins with the name of this one. In a script, use
        `AutoCoderAgent.answer`.

        Args:
            question: in your own words.
            **inputs: values by input name, instead of the samples.

        Returns:
            The pending result; its card is shown below the cell.

        Raises:
            InvalidRequest: there is no notebook, or this function was not verified here or has no data.
        """
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        magics = None if shell is None else shell.magics_manager.registry.get("AutocodeMagics")
        if magics is None:
            raise InvalidRequest(
                "A question can only be asked in a notebook that has loaded this extension.",
                hint=f"Write %load_ext autocoder_jupyter; in a script, AutoCoderAgent(…).answer({self.name}, …).",
            )
        answer: CodeGenEvalResult = magics.ask(self, question, inputs)
        return answer

    def rows_used(self, *args: Any, **inputs: Any) -> RowsUsed | None:
        """Which rows of these inputs the function uses, as `evidence.rows_used` says of the sample; None if that is
        not known. If no call with them was counted yet, the function and an instrumented copy of it run now, in the
        sandbox. Waits if pending.

        Args:
            *args: inputs by position, as in a call.
            **inputs: inputs by name.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest, DataDrift, ContractBroken: the arguments do not fit.
            SandboxError: the program or its sandbox failed.
        """
        return background.run(self._rows_used(args, inputs))

    async def _rows_used(self, args: tuple[Any, ...], inputs: Mapping[str, Any]) -> RowsUsed | None:
        answered = AnsweredCall(await self._ready(), replace(self._options, cache="disable"))
        await call(answered.function, answered.options, args, inputs, on_computed=answered.keep)
        return await background.call_blocking(lambda: answered.rows_used(self._options.timeout)[0])

    def stability(self, *args: Any, conclusion: str | None = None, **inputs: Any) -> Stability:
        """Whether the function's conclusion holds on resamples of these inputs, and with the outcome shuffled.

        It runs up to 100 times on each, in the sandbox, within a minute of processor time; no model is asked. Waits if
        pending.

        Args:
            *args: inputs by position, as in a call.
            conclusion: the kind (`verdict`, `ranking`, `effect` or `number`) and the output, and if there are any the
                outcome and the groups: "effect lift, outcome revenue, groups customer". By default it is the one that
                the plan names, as `plan.conclusion`.
            **inputs: inputs by name.

        Returns:
            The counts, the results and what is alarming; its `repr` says it in sentences.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: neither the plan nor you name a conclusion, or the arguments do not fit.
            DataDrift, ContractBroken: the arguments do not fit.
            SandboxError: the program or its sandbox failed.
        """
        asked = "" if conclusion is None else parameters.text("conclusion", conclusion)
        return background.run(self._stability(args, inputs, asked))

    async def _stability(self, args: tuple[Any, ...], inputs: Mapping[str, Any], conclusion: str) -> Stability:
        answered = AnsweredCall(await self._ready(), replace(self._options, cache="disable"))
        planned = self.report.plan.conclusion if self.report.plan is not None else None
        asked = conclusion_of(answered.function, planned, conclusion)
        await call(answered.function, answered.options, args, inputs, on_computed=answered.keep)
        return await stability_of(answered, asked)

    def queries_for(self, connection: Any) -> Sending:
        """What `run(connection)` would send to a database, whether the person has agreed to that, and a way to agree.

        Only the catalogue of the database is read. Waits if pending.

        Raises:
            InvalidRequest: the function reads no database, or this one cannot be read.
            DataDrift: a table or column is missing there, or has another type.
        """
        from autocoder_jupyter.calls.database import database_of, sending
        from autocoder_jupyter.databases.connections import opened

        connected = opened(connection)

        async def found() -> Sending:
            function = await self._ready()
            given = database_of(function, [connected], {})
            return await background.call_blocking(lambda: sending(function, given))

        return background.run(found())

    async def _drafted(self) -> Function:
        with background.interruptible():
            resolution = await self._pending.drafted()
        if self.can_be_called:
            return self._built()
        self._settled(resolution)
        function = Function.of(resolution.report, self._samples, self._root, self._contracts, is_verified=False)
        warning = f"{self.name} is not verified: {self.name}.draft ran code that has not passed its tests."
        return replace(function, unverified=warning, watch=self._watch)

    def __call__(self, *args: Any, **overrides: Any) -> Any:
        """The same as `run(…)`."""
        return self.run(*args, **overrides)

    __signature__ = SignatureOfInstance()

    @property
    def interface(self) -> Interface:
        """Signature and docstring of the function; the declared ones until it is ready. Never waits."""
        if (stand_in := self._stand_in()) is not None:
            return stand_in.interface
        if not self.is_usable:
            return self._declared
        report = self.report
        return self._built().interface if self.can_be_called and report.solution else self._declared

    def _stand_in(self) -> Function | None:
        """The earlier function, if a call that begins now must use it; else None."""
        if self.can_be_called or not (self.done or self._answers_meanwhile) or (before := self._before()) is None:
            return None
        is_verified = not before._is_unverified
        function = Function.of(before.report, {}, self._root, self._contracts, is_verified=is_verified)
        inputs = {spec.name for spec in function.inputs}
        warning = (
            f"{self.name} {self._ended_how}; this call used the earlier function (version {before.report.run_id})."
        )
        return replace(
            function,
            defaults={name: value for name, value in self._samples.items() if name in inputs},
            caution=warning,
            watch=self._watch,
        )

    def _task(self) -> Task:
        if not self.is_usable:
            raise TypeError(f"{self.name} is still pending; call .wait() before it is pickled or copied")
        return self.as_task(self.name)

    @Live
    def map(self) -> Map:
        """The function for many inputs: `result.map(items)`; see `help(result.map)`. `result.map.last` has the outcomes
        of the newest map, also of one that was interrupted.
        """
        from autocoder_jupyter.scaling.map import Map  # imports pandas

        return Map(self._ready, self._options, self._last_map)

    @Live
    def over(self) -> Over:
        """The function for a table that may be larger than memory: `result.over("orders/")`; see `help(result.over)`.
        `result.over.explain("orders/")` says what that would do.
        """
        from autocoder_jupyter.scaling.over import Over  # imports pandas

        return Over(self._ready, self._options)

    def prepare(self, client: Any, /) -> tuple[str, ...]:
        """Build the function's environment once on each machine of a Dask cluster, also of workers that come later, so
        that the first call does not wait for it. Waits if pending.

        Args:
            client: a client of Dask. Its workers need this package and, if their cache is empty, a package index.

        Returns:
            The addresses of the workers.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: `client` is not a client of Dask, or a package was not approved.
            VersionsDiffer, SandboxUnavailable, PackageError: a worker cannot build it; the message has its address.
        """
        from autocoder_jupyter.scaling.prepare import prepare

        return prepare(self._usable(), self._options, client)

    @property
    def split(self) -> Split:
        """How the function may be split into pieces of its largest table, found by comparing, without a model.

        If its cell demands a split (`--split`), only that one is compared.

        It is found at the first access, in the sandbox, on the samples and variations of them, which takes seconds;
        then it is kept on this machine. `growth.over` and `growth.with_options(output="monthly").split` use the same.
        Waits if pending.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: there are no samples, or no input is a table.
            SandboxError: the sandbox failed.
        """
        return background.run(self._split())

    async def _split(self) -> Split:
        from autocoder_jupyter.scaling.contract import split_of

        return await split_of(await self._ready(), self._options, {})

    @property
    def known_splits(self) -> KnownSplits:
        """What is known of how it may be split. Never waits and computes nothing."""
        solution = self.report.solution if self.can_be_called else None
        return self._splits.known(solution.code) if solution is not None else KnownSplits()

    def on_split(self, callback: Callable[[], object]) -> None:
        """Call the callback whenever `known_splits` has changed.

        Args:
            callback: called on any thread, which continues only when it returns.
        """
        self._splits.listen(callback)

    def check_split(self) -> None:
        """Start to find out how each table that it returns may be split, and return at once; see `split`.

        `known_splits` has what is found, or why that failed.
        """
        background.submit(self._split_of_all())

    async def _split_of_all(self) -> None:
        from autocoder_jupyter.scaling.contract import split_of_all

        with contextlib.suppress(Exception):  # it is in `known_splits`
            await split_of_all(await self._ready(), self._options)

    def recall_split(self) -> None:
        """Start to look whether an earlier process of this machine found out how it may be split, as `check_split`."""
        background.submit(self._recalled())

    async def _recalled(self) -> None:
        from autocoder_jupyter.scaling.contract import recall_splits

        with contextlib.suppress(Exception):  # this was not requested, so a failure is not shown
            function = await self._ready()
            await background.call_blocking(lambda: recall_splits(function, self._options))

    def misfit(self, name: str, value: Any) -> str:
        """Why a value cannot be an input of the function, as a sentence; "" if it can. Waits if pending.

        Args:
            name: the name of the input.
            value: the value that would be passed to `run()`.

        Raises:
            GenerationFailed: there is no function that passed.
        """
        try:
            value = on_this_machine({name: value}, self._options.timeout)[name]
        except InvalidRequest as error:
            return error.what
        return misfit(self._usable(), name, value)

    async def _ready(self) -> Function:
        return self._function_of(await self._pending.settled(until_usable=True))

    def _usable(self) -> Function:
        """The function, as soon as it is verified."""
        return self._function_of(self._pending.wait(until_usable=True))

    def _function_of(self, resolution: Resolution) -> Function:
        """The function; an error also names the last good version, if there is one."""
        try:
            return self._settled(resolution)._built()
        except AutocodeError as error:
            if self._before() is None:
                raise
            instead = f"{self.name}.last_good is the last good version, which still works."
            raise error.with_hint(f"{self.name} {self._ended_how}; {instead}") from None

    @property
    def _ended_how(self) -> str:
        """How it went without a function, in two words."""
        return {"cancelled": "was cancelled", "running": "is being generated again"}.get(self.state, "has failed")

    def _built(self) -> Function:
        report = self.report
        if self._function is None or self._built_from is not report:  # the end may bring another function
            is_verified = not self._is_unverified
            function = Function.of(report, self._samples, self._root, self._contracts, is_verified=is_verified)
            self._built_from = report
            self._function = replace(function, watch=self._watch, splits=self._splits)
        return self._function

    @Syncified
    async def verify(self, /, **samples: Any) -> CodeGenEvalResult:
        """Run the recorded tests in the sandbox here, and the function on the samples, if there are any.

        No model is asked and nothing is fixed. Then `success`, `evidence` and `state` are those of this run.
        Waits if pending; `await result.verify.aio(…)` on your own loop.

        Args:
            samples: values by input name; those that the result already has are used too. Of a table whose rows are
                elsewhere, such as a lazy frame, a sample is drawn.

        Returns:
            This result, also if it failed: check `success` and `error`.

        Raises:
            InvalidRequest: there is no function that passed or no tests, or a part of what it was verified with is
                neither passed nor in the record.
            SandboxUnavailable: there is no sandbox.
        """
        from autocoder_jupyter.data.sampling import sampled
        from autocoder_jupyter.result.verification import verified

        resolution = self._settled(await self._pending.settled())._pending.wait()
        given = {**self._samples, **await sampled(await fetched(samples, self._options.timeout))}
        work = verified(resolution, self._options, self._root, given, self._contracts)
        found = await asyncio.wrap_future(background.submit(work))
        self._samples, self._function, self._pending = given, None, Pending.resolved(found)
        self._splits.forget()
        return self

    @taking(GivenOptions)
    def with_options(self, **options: Unpack[GivenOptions]) -> CodeGenEvalResult:
        """The same result with other options for its calls. None means no change.

        Args:
            {options}

        Raises:
            InvalidRequest: an option has an invalid value.
        """
        view = copy.copy(self)
        view._options = self._options.changed({name: value for name, value in options.items() if value is not None})
        return view

    @taking(TaskOptions)
    def as_task(self, name: str, **options: Unpack[TaskOptions]) -> Task:
        """The function as a callable object with `.aio`, which can be pickled. Waits if pending.

        Unpickling runs code, so load only pickles that you trust. `save` writes no pickle.

        Args:
            name: its `__name__`, and the label of its calls in errors.
            {options}

        Raises:
            GenerationFailed: (also a ValueError) there is no function that passed.
            InvalidRequest: an option has an invalid value, or there is no such output.
        """
        configured = self.with_options(name=name, **options)._options
        function = self._usable()
        require_output(function, configured)
        return Task(name, function, configured)

    def to_flyte(
        self,
        env: Any,
        *,
        output: str | None = None,
        retries: int = 0,
        timeout: float | None = None,
        cache: bool = True,
    ) -> Any:
        """The function as a task of Flyte in `env`, with declared types. It runs in its sandbox. Waits if pending.

        Flyte caches outcomes by a version that is made of code, packages and interface. `await flyte.map.aio(task, …)`
        calls it for many inputs. Inputs with a sample as default must be given.

        Args:
            env: a `flyte.TaskEnvironment`; its image needs this package.
            output: the only output that is returned; all of them by default.
            retries: how often Flyte repeats a task that failed.
            timeout: seconds that Flyte gives the task; no limit by default, beside that of each call.
            cache: whether Flyte keeps outcomes.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: an argument is invalid, or an output cannot be one of Flyte.
        """
        from autocoder_jupyter.tasks.flyte import to_flyte

        options = self._options.changed({"output": output} if output is not None else {})
        return to_flyte(self._usable(), options, env, retries=retries, timeout=timeout, cache=cache)

    def export(self, path: str | os.PathLike[str], *, tests: bool | None = None, kind: ExportKind = "script") -> Path:
        """Write the function as plain code, which runs without a sandbox, a model and this package. Waits if pending.

        Args:
            path: the file of a script, or the folder of a package.
            tests: whether its tests are written too; by default, unless the kind is `plain`, which has none.
            kind: `script` for one module with a command line for `uv run`; `plain` for one module with the function
                under its own name and its imports only; `package` for a folder that can be installed
                with `pip install`, so that others write `from growth import growth`; `flyte` for such a folder with a
                module `growth/flyte_task.py`, whose task runs in an image with the packages that were tested.

        Returns:
            The path that was written.

        Raises:
            GenerationFailed: there is no function that passed.
            InvalidRequest: the path does not fit or cannot be written, there is no such kind, or the function is of a
                file that somebody else may have written, and needs packages that you did not agree to.
        """
        if tests is not None:
            parameters.flag("tests", tests)
        if kind == "plain" and tests:
            raise InvalidRequest(
                "A plain export has no tests: it is the function alone.", hint='Use kind="script" or kind="package".'
            )
        function = self._usable()
        self._options.require_agreed(function.name)
        tests = tests is not False
        if kind == "plain":
            from autocoder_jupyter.tasks.export import export_plain

            return export_plain(self.report, function, local_path(path))
        if kind == "script":
            from autocoder_jupyter.tasks.export import export  # imports pandas

            return export(self.report, function, local_path(path), tests=tests)
        if kind == "package":
            from autocoder_jupyter.tasks.package import export_package

            return export_package(self.report, function, local_path(path), tests=tests)
        if kind == "flyte":
            from autocoder_jupyter.tasks.flyte import export_for_flyte

            return export_for_flyte(self.report, function, local_path(path), tests=tests)
        raise InvalidRequest(f"There is no kind {kind!r} of export.", hint=f"Kinds: {', '.join(get_args(ExportKind))}.")

    # As data

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        """The report's fields, with `state` and `options`; without the samples. Waits if pending."""
        return storage.dumped(self._pending.wait(), self._options, mode)

    def model_dump_json(self, indent: int | None = None) -> str:
        """`model_dump` as JSON."""
        return storage.to_json(self._pending.wait(), self._options, indent)

    @classmethod
    def model_validate_json(cls, text: str | bytes, *, trusted: bool = False) -> CodeGenEvalResult:
        """A result from its JSON. Its samples are not in there, so `run()` needs all inputs.

        Args:
            text: the output of `model_dump_json`.
            trusted: also accept options that give access outside of the sandbox (`secrets`, network, `output_dir`,
                images), limits above the defaults, and packages that are not well known. By default the text is
                treated as untrusted.

        Raises:
            InvalidRequest: the text is not a result.
        """
        resolution, options = storage.from_json(text, trusted=parameters.flag("trusted", trusted))
        return cls(resolution.report.name, Pending.resolved(resolution), options=options)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the result and its samples (as Arrow) to a folder. Waits if pending.

        Raises:
            UnsupportedData: a sample cannot be written without a change.
            InvalidRequest: the folder cannot be written.
        """
        return storage.save(local_path(folder), self._pending.wait(), self._options, self._samples)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, trusted: bool = False) -> CodeGenEvalResult:
        """A result from a folder that `save` wrote, with its samples.

        Args:
            folder: the folder that `save` wrote.
            trusted: see `model_validate_json`.

        Raises:
            InvalidRequest: there is no result in the folder.
        """
        resolution, options, samples = storage.load(local_path(folder), trusted=parameters.flag("trusted", trusted))
        pending = Pending.resolved(resolution)
        return cls(resolution.report.name, pending, samples=samples, options=options)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.done:
            raise TypeError(f"{self.name} is still pending; call .wait() before it is pickled or copied")
        parts = self.name, self._pending.wait(), self._samples, self._options, self._root, self._contracts
        return _revived, parts

    def __copy__(self) -> CodeGenEvalResult:
        twin = CodeGenEvalResult(
            self.name,
            self._pending,
            samples=self._samples,
            options=self._options,
            root=self._root,
            declared=self._declared,
            before=self._before,
            answers_meanwhile=self._answers_meanwhile,
            contracts=self._contracts,
        )
        twin._function, twin._built_from, twin._last_map = self._function, self._built_from, self._last_map
        twin._watch, twin._splits = self._watch, self._splits
        return twin

    def __repr__(self) -> str:
        state: str = self.state
        if self._pending.usable is not None:
            state = headline(run_of(self.report, self._pending.usable.state, self._pending.usable.asks_for)).lower()
        words = [f"autocode {self.name} {state}"]
        if self.is_usable:
            words += _summary(self.report)
        if self.is_usable and not self.done:
            words.append(RUNNING)
        return f"<{' · '.join(words)}>"


def _summary(report: Report) -> list[str]:
    words = []
    if report.evidence.tests:
        passed = sum(outcome.outcome == "passed" for outcome in report.evidence.tests)
        words.append(f"{passed}/{len(report.evidence.tests)} tests")
    if report.usage.input_tokens:
        words.append("cost unknown" if report.usage.cost is None else f"${report.usage.cost:.2f}")
    if report.error and not report.success:
        words.append(visible(report.error.partition("\n")[0][:_LONGEST_REASON]))
    return words


def _revived(
    name: str,
    resolution: Resolution,
    samples: Mapping[str, Any],
    options: CallOptions,
    root: Path,
    contracts: Mapping[str, Contract] | None = None,
) -> CodeGenEvalResult:
    pending = Pending.resolved(resolution)
    return CodeGenEvalResult(name, pending, samples=samples, options=options, root=root, contracts=contracts)
