"""`AutoCoderAgent`: settings for generations, and `generate()`, in a script as well as in a notebook."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter import background
from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.agent.generation import Progress, generate_report, resolution_of
from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.agent.settings import checked_settings
from autocoder_jupyter.awaited import Awaited, tell
from autocoder_jupyter.engine.events import Event, Finished
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.request import (
    ONLY_CLAUDE,
    AgentConfig,
    Backend,
    CachePolicy,
    Request,
    SandboxChoice,
    Share,
    Switch,
)
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import FinalState, Pending, Resolution
from autocoder_jupyter.syncified import Syncified
from autocoder_jupyter.tasks.options import CallOptions
from autocoder_jupyter.types import ImageConfig, PlanQuestion, Resources, Secret


@dataclass(frozen=True, init=False, repr=False)
class AutoCoderAgent(AgentConfig):
    """Writes, tests and mends functions. Immutable: it can be shared by threads and kept for many requests.

    Parameters are those of Flyte's `AutoCoderAgent`, plus limits in money, tokens and time, the choice of the
    sandbox and how much of the data is shared. Lists and dicts are copied; nothing process-global is set.
    """

    def __init__(
        self,
        *,
        name: str = AgentConfig.name,
        model: str = AgentConfig.model,
        system_prompt: str | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        litellm_params: Mapping[str, Any] | None = None,
        base_packages: Iterable[str] | None = None,
        packages_from: str | None = None,
        resources: Resources | Mapping[str, Any] | None = None,
        image_config: ImageConfig | Mapping[str, Any] | None = None,
        max_iterations: int = AgentConfig.max_iterations,
        max_sample_rows: int = AgentConfig.max_sample_rows,
        skip_tests: bool = AgentConfig.skip_tests,
        sandbox_retries: int = AgentConfig.sandbox_retries,
        timeout: float | dt.timedelta | None = None,
        env_vars: Mapping[str, str] | None = None,
        secrets: Iterable[Secret | str] | None = None,
        cache: CachePolicy = AgentConfig.cache,
        locked: bool = AgentConfig.locked,
        log: str | None = None,
        backend: Backend = AgentConfig.backend,
        agent_max_turns: int = AgentConfig.agent_max_turns,
        blind_tests: Switch = AgentConfig.blind_tests,
        block_network: bool = AgentConfig.block_network,
        sandbox: SandboxChoice = AgentConfig.sandbox,
        share: Share = AgentConfig.share,
        hide: Iterable[str] | None = None,
        mask: Iterable[str] | None = None,
        ask: bool = False,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_seconds: float | dt.timedelta | None = None,
        approved_packages: Iterable[str] | None = None,
        second_opinion: Switch = AgentConfig.second_opinion,
        second_model: str | None = None,
    ) -> None:
        """Check and freeze the settings.

        Args:
            name: what the agent is called, in its `repr` and in the journal.
            model: identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"`.
            system_prompt: takes the place of our instructions to the writer of code; the output rules are appended.
            api_key: NAME of the environment variable that holds the key; the provider's usual one by default.
            api_base: address of the model's service, for proxies and local models.
            litellm_params: passed to every call of the model; wins over our own values.
            base_packages: installed in every environment, such as `"scikit-learn>=1.5"`.
            packages_from: path of a pylock.toml (PEP 751); its versions and hashes are in every environment.
            resources: cores and memory of every sandbox: `Resources(cpu=2, memory="4Gi")` or the same as a dict.
            image_config: registry, Python version and base image of Docker images.
            max_iterations: attempts (code, tests, run) at most.
            max_sample_rows: rows (of a table 8 in a question), or lines of a text file, that the model may see.
            skip_tests: write no tests and run none.
            sandbox_retries: how often a sandbox that died for reasons outside the program is started again.
            timeout: seconds (or a timedelta) for one run in the sandbox; 120 by default.
            env_vars: environment variables of the sandbox.
            secrets: names of environment variables of the notebook, or `Secret`, that the sandbox may see.
            cache: `auto` replays model answers from the journal, `override` asks anew, `disable` records nothing.
            log: file to which the events of generations are written as JSON lines, masked; none by default.
            locked: ask no model; what the journal has no answer to raises `Locked`.
            backend: who writes: `litellm`, the stages of this package; `claude`, an agent of the Claude Agent SDK.
            agent_max_turns: turns of the Claude backend; without effect on the loop of this package.
            blind_tests: `on` has tests written that the Claude backend does not see, beside its own; likewise.
            block_network: no network while generated code runs.
            sandbox: `docker`, `local`, or `auto` for the best that answers.
            share: `rows`, `stats` or `schema`: how much of the data the model may see.
            hide: columns of the samples that the model is not told of; the function gets them all the same.
            mask: columns of the samples of which the model is told no value.
            ask: let the plan put up to three questions before any code; `generate(answer=…)` answers them.
            max_cost: US dollars at most for one generation.
            max_tokens: tokens, in and out, at most for one generation.
            max_seconds: wall-clock seconds at most for one generation.
            approved_packages: distributions, and Debian packages as `"apt:libpq5"`, that need no further consent.
            second_opinion: `on` has an independent second solution written and compared with the function.
            second_model: identifier of the model that writes it; `model` by default.

        Raises:
            InvalidRequest: a value that a setting cannot have; it names the setting.
        """
        given = {key: value for key, value in locals().items() if key in _SETTINGS}
        for setting, value in checked_settings(given).items():
            object.__setattr__(self, setting, value)
        for setting in sorted(ONLY_CLAUDE) if self.backend != "claude" else ():
            if getattr(self, setting) != getattr(AgentConfig, setting):
                told = f'{setting} has no effect with backend="{self.backend}"; it is for backend="claude".'
                warnings.warn(told, stacklevel=2)

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
        name: str | None = None,
        journal_root: str | os.PathLike[str] | None = None,
        answer: Callable[[PlanQuestion], str] | None = None,
    ) -> CodeGenEvalResult:
        """Write a function, test it in a sandbox, and give it back; `await agent.generate.aio(…)` on your own loop.

        There is nobody to ask here, so packages that are neither well known nor in `approved_packages` are declined.

        Args:
            prompt: what is wanted, in words.
            schema: free text about the data, handed to the model as it is.
            constraints: sentences that must hold.
            samples: DataFrame, Series, `File` or `Dir` by name; they are described to the model, the function is
                run on them, and they are the defaults of `result.run()`.
            inputs: class or type name by name, such as `{"min_orders": int}`; an `InputSpec` for more.
            outputs: class or type name by name; an `OutputSpec` for more. Proposed by the plan when left out. A name
                may have a suffix (`"summary.csv": File`); its field in the result is then `summary_csv`.
            checks: Python expressions over inputs and outputs that must be true on the sample.
            own_tests: source of pytest functions that call `run(…)`; they are run first, and nobody changes them.
            examples: inputs by name and what must come out: a value, or a dict of outputs by name. Compared by values.
            name: of the result and its folder in the journal; from the prompt by default.
            journal_root: the `.autocode` folder; beside the notebook, or in the current folder, by default.
            answer: answers a question of the plan, where the agent has `ask`; "" leaves it to the plan, and so does
                None. Called on another thread.

        Returns:
            The result, ready or not: look at `success` and `error`.

        Raises:
            InvalidRequest: an argument cannot be understood.
            AutocodeError: no generation could be done at all (no key, no sandbox, data that cannot cross).
        """
        request = build_request(
            prompt,
            schema=schema,
            constraints=constraints,
            samples=samples,
            inputs=inputs,
            outputs=outputs,
            checks=checks,
            own_tests=own_tests,
            examples=examples,
            name=name,
        )
        root = default_journal_root() if journal_root is None else Path(journal_root)
        # The engine's loop is always ours: a busy notebook must not stall a stream, nor the engine a notebook.
        progress = Progress()
        tell(Awaited(request.name, progress.words, "interrupt to stop it"))
        work = background.submit(self._generated(request, root, progress, answer))
        resolution = await asyncio.wrap_future(work)
        return CodeGenEvalResult(
            request.name,
            Pending.resolved(resolution),
            samples=request.samples,
            options=CallOptions.of(self),
            root=root,
        )

    async def _generated(
        self, request: Request, root: Path, progress: Progress, answer: Callable[[PlanQuestion], str] | None
    ) -> Resolution:
        finished: list[FinalState] = []

        def emit(event: Event) -> None:
            progress(event)
            if isinstance(event, Finished):
                finished.append(event.state)

        async def decline(packages: tuple[str, ...]) -> bool:
            return False

        async def ask(questions: tuple[PlanQuestion, ...]) -> tuple[str, ...] | None:
            if answer is None:
                return None
            return await background.call_blocking(lambda: tuple(answer(question) for question in questions))

        journal = Journal(root, request.name)
        report = await generate_report(request, self, journal=journal, emit=emit, approve=decline, ask=ask)
        return resolution_of(report, finished[-1] if finished else None)


_SETTINGS = frozenset(field.name for field in dataclasses.fields(AgentConfig))
