"""The engines that write functions. The record of an engine holds everything that depends on its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Backend = Literal["litellm", "claude"]


@dataclass(frozen=True)
class Engine:
    """One engine.

    Args:
        package: the package in `engines`, by its full name. It has two functions: `require(model)` raises an error if
            the engine cannot be used with a model, and `writers(model)` makes its `WriterFactory`.
        help: what it is, in the help of `AutoCoderAgent`.
        title: what it is, on JupyterLab's settings page.
    """

    package: str
    help: str
    title: str


ENGINES: dict[Backend, Engine] = {
    "litellm": Engine(
        "autocoder_jupyter.engines.staged",
        help="the stages of this package",
        title="The stages of this package, with any model",
    ),
    "claude": Engine(
        "autocoder_jupyter.engines.claude",
        help="an agent of the Claude Agent SDK",
        title="Claude as an agent with tools in the sandbox",
    ),
}
"""The engines by the value of `backend`. The first one is the default."""
