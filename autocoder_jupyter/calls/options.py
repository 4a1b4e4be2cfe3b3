"""The options of a call: those that a user can set, each defined once, and `CallOptions` with all of them.

`with_options()` and `as_task()` take options, with the signature and the docstring that are made here; a call takes
them by name. This file has no `from __future__ import annotations`, because the checks are read from annotations.
"""

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypedDict, TypeVar, get_args, get_type_hints

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, CachePolicy, SandboxChoice, Switch
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.settings.choices import MinimumTier, SandboxMinimum
from autocoder_jupyter.types import ImageConfig, Resources, Secret
from autocoder_jupyter.untrusted.visible import visible

# Options that a user can set

Tables = Literal["pandas", "same"]
"""The library of returned tables."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class CallOption:
    """An option of a call.

    Args:
        check: returns the frozen value, or raises InvalidRequest.
    """

    help: str
    check: Callable[[str, Any], Any]


def _retries(name: str, value: Any) -> int:
    return parameters.count(name, value, least=0)


def _choice(of: Any) -> Callable[[str, Any], Any]:
    return lambda name, value: parameters.choice(name, value, get_args(of))


class TaskOptions(TypedDict, total=False):
    """Options of every call of a task. None means no change."""

    resources: Annotated[
        Resources | Mapping[str, Any] | None, CallOption("cores and memory of the sandbox", parameters.resources)
    ]
    retries: Annotated[
        int | None,
        CallOption("how often a call is repeated after its sandbox was killed or stopped from outside", _retries),
    ]
    timeout: Annotated[
        float | None, CallOption("seconds a call may take; all its processes are killed then", parameters.seconds)
    ]
    env_vars: Annotated[
        Mapping[str, str] | None,
        CallOption("environment variables of the program, in place of the generation's", parameters.env_vars),
    ]
    secrets: Annotated[
        Iterable[Secret | str] | None,
        CallOption(
            "names of variables of the notebook that the program may see; read when a call is made, never stored",
            parameters.secrets,
        ),
    ]
    cache: Annotated[
        CachePolicy | None,
        CallOption(
            "`disable` computes always; `auto` answers from an earlier call with the same code, environment, variables "
            "and contents of the inputs; `override` computes and stores",
            _choice(CachePolicy),
        ),
    ]
    reuse: Annotated[
        bool | None,
        CallOption(
            "run in the process that the previous call used: a fifth of the time of a small call, for thousands of "
            "them; what the function leaves in modules and global variables stays for the next call",
            parameters.flag,
        ),
    ]
    tables: Annotated[
        Tables | None,
        CallOption(
            "`same` gives tables back as what the first one given is (polars, PyArrow); `pandas` as pandas",
            _choice(Tables),
        ),
    ]
    output: Annotated[
        str | None, CallOption("the name of the output that a call returns alone, in place of all", parameters.text)
    ]
    drift: Annotated[
        Switch | None,
        CallOption("`off` does not compare the values of tables with the recorded ones", _choice(Switch)),
    ]
    sandbox_minimum: Annotated[
        MinimumTier | SandboxMinimum | None,
        CallOption("minimum isolation of the sandbox, in addition to the configured one", parameters.sandbox_minimum),
    ]


class GivenOptions(TaskOptions, total=False):
    """Options of a call. None means no change."""

    name: Annotated[str | None, CallOption("label of the calls, in errors", parameters.text)]
    output_dir: Annotated[
        str | os.PathLike[str] | None,
        CallOption(
            "where `File` and `Dir` outputs go, under their outputs' names, and beside what is there; a fresh folder "
            "in the journal by default",
            parameters.folder,
        ),
    ]


def _options(of: type) -> dict[str, tuple[Any, CallOption]]:
    hints = get_type_hints(of, include_extras=True)
    return {name: (get_args(hint)[0], hint.__metadata__[0]) for name, hint in hints.items()}


OPTIONS = {name: option for name, (_, option) in _options(GivenOptions).items()}
"""The options by name."""


def taking(of: type[TaskOptions]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for a method that ends in `**options`: its signature and docstring name each of them.

    Args:
        of: the options that it takes. Their descriptions replace `{options}` in its docstring.
    """
    found = _options(of)

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        *own, _ = inspect.signature(method).parameters.values()
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, (kind, _) in found.items()
        ]
        signature = inspect.signature(method).replace(parameters=[*own, *named])

        @functools.wraps(method)
        def takes(*args: P.args, **kwargs: P.kwargs) -> R:
            signature.bind(*args, **kwargs)  # raises Python's own TypeError for an unknown option
            return method(*args, **kwargs)

        lines = "\n            ".join(f"{name}: {option.help}." for name, (_, option) in found.items())
        takes.__doc__ = (method.__doc__ or "").replace("{options}", lines)
        takes.__signature__ = signature  # type: ignore[attr-defined]
        return takes

    return decorate


# `CallOptions`


@dataclass(frozen=True)
class CallOptions:
    """The options of `run()`, `as_task()` and `with_options()`.

    `GivenOptions` describes those that the user can set.

    Args:
        sandbox_minimum: the weakest accepted sandbox; in a weaker one no call is made.
        withheld: packages of an untrusted file that the user has not approved; see `require_agreed`.
        given_back: the classes of Flyte that outputs were declared as, by name. Outputs are returned as such.
        worker_seconds: the time limit of workers. It is the same for all calls, so that they can share workers.
    """

    name: str = ""
    resources: Resources = Resources()
    retries: int = 0
    timeout: float = 120.0
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[Secret, ...] = ()
    cache: CachePolicy = "disable"
    reuse: bool = False
    output_dir: Path | None = None
    tables: Tables = "pandas"
    output: str = ""
    drift: Switch = "on"
    network: bool = False
    sandbox: SandboxChoice = "auto"
    sandbox_minimum: SandboxMinimum = SandboxMinimum()
    image_config: ImageConfig = ImageConfig()
    withheld: tuple[str, ...] = ()
    given_back: Mapping[str, type] = field(default_factory=dict)
    worker_seconds: float = 120.0

    @classmethod
    def of(cls, config: AgentConfig) -> "CallOptions":
        """The options of the generation, which calls inherit, except for the cache."""
        return cls(
            resources=config.resources,
            retries=config.sandbox_retries,
            timeout=config.timeout,
            env_vars=dict(config.env_vars),
            secrets=config.secrets,
            network=not config.block_network,
            sandbox=config.sandbox,
            sandbox_minimum=config.sandbox_minimum,
            image_config=config.image_config,
            worker_seconds=config.timeout,
            drift=config.drift,
        )

    def require_agreed(self, name: str) -> None:
        """Check that no package waits for a yes, so that the function of this name may be called or exported.

        Raises:
            InvalidRequest: one does.
        """
        if self.withheld:
            raise InvalidRequest(
                f"{name} needs packages that were not approved: {visible(', '.join(self.withheld))}.",
                why="The result was loaded from a file that somebody else may have written.",
                hint="Load it with trusted=True if you want them to be installed for it.",
            )

    def changed(self, options: Mapping[str, Any]) -> "CallOptions":
        """A copy with some options set.

        Raises:
            InvalidRequest: an unknown option or an invalid value.
        """
        for option in options:
            if option not in OPTIONS:
                raise InvalidRequest(
                    f"There is no option {option!r}.",
                    hint=parameters.suggestion(option, OPTIONS) or f"Options: {', '.join(OPTIONS)}.",
                )
        checked = {name: OPTIONS[name].check(name, value) for name, value in options.items()}
        if "sandbox_minimum" in checked:
            checked["sandbox_minimum"] = self.sandbox_minimum.narrowed_by(checked["sandbox_minimum"])
        return dataclasses.replace(self, **checked)
