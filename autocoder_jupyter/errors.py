"""The exceptions of this package. Each message says what happened, why, and what to do next.

IPython calls `_render_traceback_` instead of printing the stack, so a notebook shows two or three lines. In a script
they are ordinary exceptions with the same text. `%autocode help NAME` explains an error by the name of its class.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.version import DOCUMENTATION

TROUBLESHOOTING = f"{DOCUMENTATION}/troubleshooting.html"
"""The page with a section about each error."""

_SIGKILL = 9
"""The number on every system; `signal.SIGKILL` does not exist on Windows."""


class AutocodeError(Exception):
    """Base class of all errors that are shown to the user.

    Args:
        what: one sentence, what happened.
        why: the cause, if it is known and not obvious.
        hint: the next step, if possible a line that can be typed.
    """

    is_shown = False
    """Whether the output above it has the cause and the next step, so that a notebook shows its first line only."""

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what, why, hint)
        self.what = what
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(visible_block(line) for line in (self.what, self.why, self.hint) if line)

    def __reduce__(self) -> tuple[object, ...]:
        # By default an exception does not pickle keyword arguments.
        return _revived, (type(self), self.args, self.__dict__)

    def below_its_card(self) -> Self:
        """The same error, for a cell whose output shows it already."""
        error = copy.copy(self)
        error.is_shown = True
        return error

    def with_hint(self, hint: str) -> Self:
        """The same error with one more next step."""
        error = copy.copy(self)
        error.hint = "\n".join(filter(None, (self.hint, hint)))
        return error

    def _render_traceback_(self) -> list[str]:
        lines = () if self.is_shown else (self.why, self.hint)
        shown = (f"{type(self).__name__}: {self.what}", *(f"  {line}" for line in lines if line))
        # Further lines of a text are indented, so that they cannot look like lines of ours.
        return [visible_block(text).replace("\n", "\n    ") for text in shown]


def _revived(kind: type[AutocodeError], args: tuple[str, ...], state: dict[str, object]) -> AutocodeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


# Requests and data


class InvalidRequest(AutocodeError):
    """An option, a name, a type or a value in the cell or the call is not valid.

    Args:
        what, why, hint: see `AutocodeError`.
        about: the wrong part of the text, if known; an editor underlines it.
    """

    def __init__(self, what: str, *, why: str = "", hint: str = "", about: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.about = about


class WrittenLater(InvalidRequest):
    """A file has a format that only a later version of this package knows. It is neither used nor changed."""


class UnsupportedData(AutocodeError):
    """A value cannot be sent to the sandbox without a change. The message names the column or the key."""


class DataDrift(AutocodeError):
    """A frame passed to `run()`, or a sample of a cell, differs in columns or dtypes from that of the function.

    Args:
        what, why, hint: see `AutocodeError`.
        option: the options of a cell with which the function can be kept (`--rename price=unit_price`).
    """

    def __init__(self, what: str, *, why: str = "", hint: str = "", option: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.option = option


class ContractBroken(AutocodeError):
    """A table does not satisfy its contract, a schema of the user.

    Args:
        what, why, hint: see `AutocodeError`.
        without_values: the message without values of the data.
        name: the name of the input or output.
        failure_cases: pandera's table of all rows that fail, one per line.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        without_values: str = "",
        name: str = "",
        failure_cases: object = None,
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.without_values = without_values
        self.name = name
        self.failure_cases = failure_cases

    @property
    def told(self) -> str:
        """The old name of `without_values`."""
        warnings.warn("told was renamed to without_values, and will be removed.", DeprecationWarning, stacklevel=2)
        return self.without_values


class UncheckedContractWarning(UserWarning):
    """A recorded function was called without its contract, because only the notebook has the schema."""


class NotVerifiedWarning(UserWarning):
    """A recorded function was called whose evidence was not gathered here. `verify()` of its result gathers it."""


class DriftWarning(UserWarning):
    """A frame passed to `run()` differs from the sample of the function, but only in columns that it does not read."""


class EarlierVersionWarning(UserWarning):
    """A call used the last good function, because the newer run of that name is not done or failed."""


class NoWorkersWarning(UserWarning):
    """A cluster of Dask has no workers yet, so calls wait until it has one."""


# The language model


class ModelError(AutocodeError):
    """The language model could not be asked, or its answer is not usable."""


class AuthenticationFailed(ModelError):
    """The key is missing, or the provider refuses it. Not retried."""


class UnknownModel(ModelError):
    """The provider does not know the model. Not retried."""


class PriceUnknown(ModelError):
    """The cost is limited in dollars, and the price of the model is not known. Nothing was sent."""


class ModelUnavailable(ModelError):
    """Rate limits, overload, timeouts or lost connections continued after all retries."""


class UnusableAnswer(ModelError):
    """The answer was incomplete or not parsable, also after the model was asked to repair it."""


class Locked(ModelError):
    """The model is needed, but `--locked` forbids to ask it. `why` says what differs from the record."""


class BudgetSpent(AutocodeError):
    """A limit on attempts, tokens, cost or seconds is reached.

    Args:
        what, why, hint: see `AutocodeError`.
        limit: the setting of the limit, such as `max_cost`.
        needs: the least that its next question may take, in the unit of the limit; 0 if that is not known.
    """

    def __init__(self, what: str, *, why: str = "", hint: str = "", limit: str = "", needs: float = 0) -> None:
        super().__init__(what, why=why, hint=hint)
        self.limit = limit
        self.needs = needs


# The sandbox


class SandboxError(AutocodeError):
    """Base class of the errors of a sandbox."""


class SandboxUnavailable(SandboxError):
    """No sandbox works here. Generated code never runs without one."""


class EngineGone(SandboxError):
    """The sandbox stopped for a reason outside of the program, such as a restarted daemon or a removed container."""


RAN_OUT_OF_TIME = "The program ran longer than"
"""The beginning of the message of a `SandboxTimeout`."""


class SandboxTimeout(SandboxError):
    """The program exceeded its time limit. All its processes were killed."""


class OutOfMemory(SandboxError):
    """The program exceeded its memory limit."""


class SandboxCrash(SandboxError):
    """The interpreter died by a signal, or exited during a call. `signal` is the number of the signal, if any."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", signal: int | None = None) -> None:
        super().__init__(what, why=why, hint=hint)
        self.signal = signal


def kinds() -> dict[str, type[Exception]]:
    """The errors and warnings by name. Each has a section in *Troubleshooting*."""
    own = {name: kind for name, kind in globals().items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    del own["AutocodeError"]
    return own


def explanation(name: str) -> str:
    """What an error or warning of this name means, and the address of its section in *Troubleshooting*."""
    meaning, _, _ = (inspect.getdoc(kinds()[name]) or "").partition("\n\n")
    return f"{name}: {meaning}\n  {TROUBLESHOOTING}#{name.lower()}"


def brief_error(error: Exception) -> str:
    """The first sentence of an error; only the type of one that is not ours, whose message may contain values."""
    return error.what if isinstance(error, AutocodeError) else f"An unexpected {type(error).__name__} occurred."


def was_killed(error: Exception) -> bool:
    """Whether a sandbox died from outside: its engine is gone, or its process got SIGKILL and exceeded no limit.

    A program that sends SIGKILL to itself cannot be told apart from one that the system or an operator killed.
    """
    return isinstance(error, EngineGone) or (isinstance(error, SandboxCrash) and error.signal == _SIGKILL)


class OutputRefused(SandboxError):
    """The output of the program is too large, malformed, or violates the protocol."""


class WrongType(SandboxError):
    """The function did not return its declared outputs."""


class SolutionError(SandboxError):
    """The function raised an exception.

    Args:
        what: a sentence with the exception's type and message.
        exception_type: qualified name of the exception's type.
        line: the line of the solution that raised it, 1-based; None if it is outside of the solution.
        source: the text of that line.
        stderr: the end of the program's standard error.
        traceback: the traceback inside the sandbox, without frames of this package.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        exception_type: str = "",
        line: int | None = None,
        source: str = "",
        stderr: str = "",
        traceback: str = "",
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.exception_type = exception_type
        self.line = line
        self.source = source
        self.stderr = stderr
        self.traceback = traceback


class PackageError(SandboxError):
    """An environment cannot be created. `package` is the distribution that caused it, if one did."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", package: str | None = None) -> None:
        super().__init__(what, why=why, hint=hint)
        self.package = package


class PackageRefused(PackageError):
    """The user declined a package, or it is not allowed: it has no wheel, or is given by a path or a URL."""


# Many inputs, and tables in pieces


class VersionsDiffer(AutocodeError):
    """A worker of an engine has other versions of this package, of Python, pandas or PyArrow than the caller."""


class ItemsFailed(AutocodeError):
    """Items of a map have no outcome, so their table cannot be made."""


class NotSplittable(AutocodeError):
    """A table is larger than memory, and the function may not be computed in pieces. Nothing was computed."""


class TooBig(AutocodeError):
    """A group of rows, or the answers that are merged, are larger than a piece may be."""


class SplitBroken(AutocodeError):
    """The answer for a piece of the real data is another one in parts, so the function may not be split like this."""


class PieceFailed(AutocodeError):
    """The call for a piece of a table failed. The message names the piece; no answer was kept."""


# Jobs


class RequestInUse(AutocodeError):
    """Another kernel works on the same request, and is stopped or shows no sign of life. The model was not asked."""


class GenerationFailed(AutocodeError, ValueError):
    """A generation ended without a function that passed. The result has the best attempt.

    It is also a ValueError, which Flyte raises in this case.
    """


class Cancelled(AutocodeError):
    """The job was cancelled by the user, or by a newer run of the same cell."""


def working_folder() -> Path:
    """The current folder.

    Raises:
        InvalidRequest: it was removed or renamed.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidRequest(
            "The folder in which this kernel works is gone.",
            why=f"It was removed or renamed after the kernel had started in it ({error.strerror or error}).",
            hint="Go to an existing folder with %cd PATH. What is recorded in the old folder is not found there.",
        ) from None


@contextlib.contextmanager
def writing(what: str, place: Path, hint: str = "Choose a place that you may write to.") -> Iterator[None]:
    """Convert an OSError of writing `what` to `place` into an InvalidRequest.

    Raises:
        InvalidRequest: it cannot be written: no permission, no space, or a file in place of a folder.
    """
    try:
        yield
    except OSError as error:
        at_fault = f" ({error.filename})" if error.filename and str(error.filename) != str(place) else ""
        raise InvalidRequest(
            f"{what} cannot be written to {place}.",
            why=f"{error.strerror or error}{at_fault}.",
            hint=hint,
        ) from None
