"""The magics: text of a cell in, a bound name and a running job out.

The package may import all others except `lab`. `%load_ext` imports it, so pandas, litellm, docker, pyarrow and pydantic
are imported only when they are used.

- `magic`: `%%autocode`, `%autocode`, `%%autocode_test`; `notebook`: the shell, its jobs and results
- `options`, `command`, `examples`: the options of a cell, parsed; `settings`: their values; `help`: their text
- `references`, `recognition`, `no_data`, `contracts`: the variables that a request names, or should name
- `cell`: runs a cell; `own_tests`: tests and edits of the user; `versions`: finds, refines and manages versions
- `result_display`, `progress`, `terminal`: what is shown of a result and of a run
- `problems`, `completion`: help while a cell is written; `doctor`, `permissions`: checks of machine and folder
- `line/`: subcommands of `%autocode`; `codemode/`: cells with `--mode tools`
"""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.concurrency import awaited
from autocoder_jupyter.display.wait_line import WaitLine, watch_in_notebook
from autocoder_jupyter.magics.codemode.display import AnswerDisplay
from autocoder_jupyter.magics.completion import Completion
from autocoder_jupyter.magics.magic import AutocodeMagics, keep_empty_cell
from autocoder_jupyter.magics.notebook import CODE_RESULT_TYPE, RESULT_TYPE, Jobs
from autocoder_jupyter.magics.result_display import OUTPUTS_TYPE, PendingDisplay, ResultDisplay, outputs_page
from autocoder_jupyter.untrusted.plain_json import pretty_int

_registered: dict[int, tuple[AutocodeMagics, Completion, ResultDisplay, Any, WaitLine]] = {}
"""What `register` added to each shell, by the shell's id. `unregister` removes it."""


def register(shell: Any, jobs: Jobs | None = None) -> AutocodeMagics:
    """Add the magics, `%config Autocode`, completion and the inspector of a result to a shell."""
    unregister(shell)
    magics = AutocodeMagics(shell, jobs)
    completion = Completion(magics.notebook)
    shell.register_magics(magics)
    shell.configurables.append(magics.notebook.traits)
    shell.Completer.custom_matchers.append(completion.matcher)
    shell.input_transformers_cleanup.insert(0, keep_empty_cell)
    display = ResultDisplay(magics.notebook)
    shell.display_formatter.mimebundle_formatter.for_type_by_name(*RESULT_TYPE, display)
    shell.display_formatter.ipython_display_formatter.for_type_by_name(
        *RESULT_TYPE, PendingDisplay(magics.notebook, display)
    )
    answers = AnswerDisplay(magics.notebook)
    shell.display_formatter.mimebundle_formatter.for_type_by_name(*CODE_RESULT_TYPE, answers)
    shell.display_formatter.ipython_display_formatter.for_type_by_name(*CODE_RESULT_TYPE, answers.show)
    shell.display_formatter.formatters["text/html"].for_type_by_name(*OUTPUTS_TYPE, outputs_page)
    writes_int = shell.display_formatter.formatters["text/plain"].for_type(int, pretty_int)
    notebook = magics.notebook
    line = WaitLine()
    awaited.set_watch(watch_in_notebook(lambda: not notebook.is_terminal and not notebook.is_headless, line))
    shell.events.register("post_execute", line.clear)
    _registered[id(shell)] = (magics, completion, display, writes_int, line)
    return magics


def unregister(shell: Any) -> None:
    """Remove everything that `register` added, and cancel running jobs."""
    known = _registered.pop(id(shell), None)
    if known is None:
        return
    magics, completion, display, writes_int, line = known
    for launch in magics.notebook.launched.values():
        if not launch.job.done:
            launch.job.cancel()
    awaited.set_watch()
    shell.magics_manager.registry.pop(type(magics).__name__, None)
    shell.events.unregister("post_execute", line.clear)
    for kind, name in (("line", "autocode"), ("cell", "autocode"), ("cell", "autocode_test")):
        shell.magics_manager.magics[kind].pop(name, None)
    for configurable in (magics, magics.notebook.traits):
        shell.configurables.remove(configurable)
    shell.Completer.custom_matchers.remove(completion.matcher)
    shell.input_transformers_cleanup.remove(keep_empty_cell)
    for bound in (RESULT_TYPE, CODE_RESULT_TYPE):
        _forget_formatter(shell.display_formatter.mimebundle_formatter, bound)
        _forget_formatter(shell.display_formatter.ipython_display_formatter, bound)
    _forget_formatter(shell.display_formatter.formatters["text/html"], OUTPUTS_TYPE)
    shell.display_formatter.formatters["text/plain"].for_type(int, writes_int)
    display.close()


def _forget_formatter(formatter: Any, kind: tuple[str, str]) -> None:
    try:
        formatter.pop(".".join(kind))
    except KeyError:
        return
