"""Answers the requests of a page: actions on results, problems of the cell that is being written, and its settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.display.calls import call_line
from autocoder_jupyter.display.charts import description, thumbnail
from autocoder_jupyter.display.live import card_bundle
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.lab.messages import (
    CellProblem,
    CheckedPart,
    ReadyModels,
    RequestOutcome,
    SettingValue,
    TakenSettings,
)
from autocoder_jupyter.magics.doctor import examine
from autocoder_jupyter.magics.line.first_steps import choose
from autocoder_jupyter.magics.line.replies import keep_as_it_is
from autocoder_jupyter.magics.notebook import (
    Launch,
    Notebook,
    NotebookJob,
    find_callable,
    find_job,
    find_result,
    find_waiting,
    is_code_result,
)
from autocoder_jupyter.magics.own_tests import sources
from autocoder_jupyter.magics.problems import find_problems
from autocoder_jupyter.magics.references import fitting_variables
from autocoder_jupyter.magics.settings import read_lab, suggestion
from autocoder_jupyter.magics.versions import VersionManager
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.redaction.messages import without_anything_secret
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.tasks.export import insertable
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view.as_html import data_address

_log = redacting_logger(__name__)

VERSION_KEYS = ("number", "id", "started", "state", "by", "evidence", "spent", "why", "request")
"""The keys of a version for a page, in the order of `versions.HEADINGS`."""


def answer(notebook: Notebook, asked: Mapping[str, Any]) -> RequestOutcome:
    """Handle a request and return its value or its error message. Raises nothing."""
    return _outcome(lambda: _act(notebook, asked))


def problems(notebook: Notebook, asked: Mapping[str, Any]) -> RequestOutcome:
    """The problems of the text under `cell`, as JSON: a list of `CellProblem`. Raises nothing."""
    return _outcome(lambda: json.dumps(_problems(notebook, asked.get("cell"))))


def _outcome(work: Callable[[], str | None]) -> RequestOutcome:
    try:
        return {"ok": True, "value": work()}
    except AutocodeError as error:
        without_anything_secret(error)
        return {"ok": False, "error": sentence(error)}
    except Exception as error:
        _log.info("a page's request failed", exc_info=True)
        return {"ok": False, "error": visible(f"The request failed. {type(error).__name__}: {error}")}


def sentence(error: AutocodeError) -> str:
    """An error in one line: what happened, why, and what to do next."""
    return visible(" ".join(part.strip() for part in (error.what, error.why, error.hint) if part).replace("\n", " "))


def _problems(notebook: Notebook, cell: Any) -> list[CellProblem]:
    if not isinstance(cell, str):
        raise InvalidRequest("The cell must be a string.")

    def may_replace() -> bool:
        return bool(notebook.settings()["replace"])

    # A copy, because the notebook may be running a cell that changes its variables.
    found = find_problems(cell, dict(notebook.namespace), may_replace)
    return [
        {
            "severity": problem.severity,
            "what": problem.what,
            "hint": problem.hint,
            "instead": problem.instead,
            "area": problem.at.area,
            "word": problem.at.word,
            "start": problem.at.start,
            "end": problem.at.end,
        }
        for problem in found
    ]


def _act(notebook: Notebook, asked: Mapping[str, Any]) -> str | None:
    action, name = asked.get("action"), asked.get("name")
    if not isinstance(action, str) or action not in _ACTIONS:
        raise InvalidRequest(f"There is no action {action!r}.", hint=suggestion(str(action), _ACTIONS))
    if not isinstance(name, str) or not (name or action in _WITHOUT_NAME):
        raise InvalidRequest(f"{action} needs the name of a result.")
    return _ACTIONS[action](notebook, name, asked)


def _cancel(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    job = find_job(notebook, name)
    if job.done:
        raise InvalidRequest(f"{name} has ended already ({job.state.replace('_', ' ')}).")
    job.cancel()


def _approve(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    _decide(notebook, name, asked, lambda job, question: job.approve(question))


def _decline(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    _decide(notebook, name, asked, lambda job, question: job.decline(question))


def _keep(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    keep_as_it_is(notebook, name, str(asked.get("question") or ""))


def _silent(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    """Answer that a model says nothing, as the action says."""
    answer: Any = str(asked["action"]).removeprefix("silent-")
    if not find_job(notebook, name).answer_silence(answer):
        raise InvalidRequest(f"{name} waits for no model any more.")


def _decide(
    notebook: Notebook, name: str, asked: Mapping[str, Any], decide: Callable[[NotebookJob, str], bool]
) -> None:
    """Answer the question that the page showed; it names the question."""
    job, _ = find_waiting(notebook, name)
    if not decide(job, str(asked.get("question") or "")):
        raise InvalidRequest(f"{name} asks something else now.", hint="Read the new question.")


def _card(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """The current card by mime type, as JSON, for an output that gets no updates any more."""
    launch = _launched(notebook, name)
    return json.dumps(card_bundle(launch.card.state, launch.started, for_page=True))


def _result(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """The output of a finished result by mime type, as JSON, as the last line of a cell shows it."""
    result = _launched(notebook, name).job.result
    if not result.done:
        raise _not_done(name)
    data, _ = notebook.shell.display_formatter.format(result)
    return json.dumps(data)


def _launched(notebook: Notebook, name: str) -> Launch:
    launch = notebook.launched.get(name)
    if launch is None:
        raise InvalidRequest(f"No cell of this kernel started {name}.", hint="Run its cell.")
    return launch


def _code(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    report = _ended(notebook, name)
    if report.solution is None:
        raise InvalidRequest(f"{name} has no code.", why=report.error or "")
    return insertable(report.solution.code, name)


def _call(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """A line that calls the function, with variables that fit its inputs; after a failure that of the last good one."""
    report, result = _ended(notebook, name), find_result(notebook, name)
    if not (report.success or getattr(result, "can_be_called", False)):
        result = getattr(result, "last_good", None)
        if result is None:
            raise InvalidRequest(f"{name} cannot be called.", why=report.error or "")
        report = result.report
    variables = fitting_variables(result, report.declared_inputs, notebook.namespace)
    return call_line(name, report.declared_inputs, variables)


def _assignment(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """The same line, with names for the outputs."""
    call = _call(notebook, name, asked)
    return f"{', '.join(field_names([spec.name for spec in _ended(notebook, name).declared_outputs]))} = {call}"


def _sources(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """Code and tests as they are on disk now, as JSON, for an editor."""
    return json.dumps(dict(zip(("code", "tests"), sources(notebook, _ended(notebook, name)), strict=True)))


def _edit(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    """Take edited code and tests, which the next `%autocode retest` tests."""
    code, tests = asked.get("code"), asked.get("tests")
    if not isinstance(code, str) or not isinstance(tests, str):
        raise InvalidRequest("The code and the tests must be strings.")
    _ended(notebook, name)
    notebook.edits[name] = code, tests


def _export(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    path = asked.get("path") or f"{name}.py"
    if not isinstance(path, str):
        raise InvalidRequest("The path to export to must be a string.")
    _ended(notebook, name)
    return str(find_callable(notebook, name).export(path))


def _check_split(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    """Start to find out how it may be split; the card shows it."""
    _ended(notebook, name)
    find_callable(notebook, name).check_split()


def _versions(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """The versions of a name as JSON, oldest first, as texts under the keys `VERSION_KEYS`."""
    rows = VersionManager(notebook, name).rows()
    return json.dumps([dict(zip(VERSION_KEYS, row, strict=True)) for row in rows])


def _picture(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str | None:
    """The first small picture or chart of the outputs on the sample, as JSON, and what it shows in words."""
    state = _launched(notebook, name).card.state
    if isinstance(state, CodeRun):
        drawings = ((thumbnail(chart), chart) for chart in state.charts)
        first = next((pair for pair in drawings if pair[0]), None)
        return first and json.dumps({**first[0], "alt": description(first[1]) or name})
    seen = getattr(state, "outputs", None)
    found = next((one for one in (seen.glimpses if seen else ()) if one.picture or one.chart), None)
    if found is None:
        return None
    drawn = {"src": data_address(found.picture, "image/png")} if found.picture else {"chart": found.chart}
    return json.dumps({**drawn, "alt": f"{found.name}: {found.text}"})


def _doctor(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """What `%autocode setup check` finds, as JSON: a list of `CheckedPart`."""
    rows: list[CheckedPart] = [
        {
            "name": visible(row.name),
            "state": visible(row.state),
            "more": visible(row.more),
            "level": row.level,
            "used": row.used,
            "bad": row.bad,
        }
        for row in examine(notebook.settings())
    ]
    return json.dumps(rows)


def _ready(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """The models that can be asked now, and the system's keyring, as JSON: `ReadyModels`."""
    from autocoder_jupyter.concurrency import background
    from autocoder_jupyter.models.keys import keyring_name
    from autocoder_jupyter.models.offers import offers

    settings = notebook.settings()
    found: ReadyModels = {
        "offers": [
            {
                "text": visible(one.text),
                "models": [visible(model) for model in one.models],
                "api_base": visible(one.api_base),
            }
            for one in background.run(offers())
        ],
        "model": visible(settings["model"]),
        "api_base": visible(settings["api_base"] or ""),
        "keyring": keyring_name(),
    }
    return json.dumps(found)


def _price(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> None:
    """Use these prices of a million tokens for the model of a run, until the kernel ends."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.models.preflight import use_prices

    prices, config = asked.get("prices"), find_job(notebook, name).config
    match prices:
        case [int() | float() as question, int() | float() as answered] if not isinstance(question, bool):
            use_prices(reached(config, config.model), (question / 1e6, answered / 1e6))
        case _:
            raise InvalidRequest("The prices must be two numbers.")


def _try_model(notebook: Notebook, name: str, asked: Mapping[str, Any]) -> str:
    """Use the model, and the key if one was typed, that the page sends, if it answers. `key` is written nowhere."""
    chosen, key = asked.get("values"), asked.get("key") or ""
    if not isinstance(chosen, dict) or not isinstance(key, str):
        raise InvalidRequest("The settings must be an object, and the key a string.")
    return choose(notebook, chosen, key.strip(), keeps=asked.get("keep") is True)


def _ended(notebook: Notebook, name: str) -> Any:
    """The report of a finished result; a page must not wait for a running one."""
    result = find_result(notebook, name)
    if not getattr(result, "is_usable", True):
        raise _not_done(name)
    if is_code_result(result):
        raise InvalidRequest(f"{name} is an answer of --mode tools, not a function.", hint=f"{name}.code is its code.")
    return getattr(result, "report", result)


def _not_done(name: str) -> InvalidRequest:
    return InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")


_ACTIONS: dict[str, Callable[[Notebook, str, Mapping[str, Any]], str | None]] = {
    "cancel": _cancel,
    "approve": _approve,
    "decline": _decline,
    "keep": _keep,
    "price": _price,
    "silent-wait": _silent,
    "silent-again": _silent,
    "silent-model": _silent,
    "check-split": _check_split,
    "versions": _versions,
    "picture": _picture,
    "card": _card,
    "result": _result,
    "code": _code,
    "call": _call,
    "assignment": _assignment,
    "sources": _sources,
    "edit": _edit,
    "export": _export,
    "doctor": _doctor,
    "ready": _ready,
    "try-model": _try_model,
}

_WITHOUT_NAME = ("doctor", "ready", "try-model")
"""Actions that are about the notebook, so they need no name. They may take seconds."""


def is_slow(asked: Mapping[str, Any]) -> bool:
    """Whether a request may take so long that the others must not wait for it."""
    return asked.get("action") in _WITHOUT_NAME


# The settings of JupyterLab's settings page


def take_settings(notebook: Notebook, given: Mapping[str, Any]) -> TakenSettings:
    """Replace the earlier values of the page, and return the effective settings."""
    usable, refused = read_lab(given)
    notebook.front_end.settings = usable
    try:
        settings = notebook.settings()
    except AutocodeError as error:
        return {"settings": {}, "refused": refused, "error": sentence(error)}
    effective: dict[str, SettingValue] = {
        name: {"value": _plain(value), "origin": settings.origins[name]} for name, value in settings.values.items()
    }
    return {"settings": effective, "refused": refused}


def _plain(value: Any) -> Any:
    """A value as JSON; of a dictionary only the keys, because values may be secrets."""
    return list(value) if isinstance(value, tuple | list | dict) else value
