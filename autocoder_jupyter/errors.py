"""What can go wrong, one exception a kind. Each says what happened, why, and what to do next.

IPython calls `_render_traceback_` instead of printing our stack, so a notebook shows two or three lines; a script
sees the same text in an ordinary exception.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.version import DOCUMENTATION


class AutocodeError(Exception):
    """Base of all errors that are meant for a person.

    Args:
        what: one sentence, what happened.
        why: the cause, when it is known and not obvious.
        hint: the next step, best a line that can be typed.
    """

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what, why, hint)
        self.what = what
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(visible_block(line) for line in (self.what, self.why, self.hint) if line)

    def __reduce__(self) -> tuple[object, ...]:
        # The arguments are keywords, which an exception does not pickle by itself.
        return _revived, (type(self), self.args, self.__dict__)

    @classmethod
    def documentation(cls) -> str:
        """The address of the part of *Troubleshooting* about this kind of error."""
        return f"{DOCUMENTATION}/troubleshooting.html#{cls.__name__.lower()}"

    def _render_traceback_(self) -> list[str]:
        lines = (self.why, self.hint, f"More: {self.documentation()}")
        said = (f"{type(self).__name__}: {self.what}", *(f"  {line}" for line in lines if line))
        # What a text of others holds beyond its first line is indented, so that it begins no line of ours.
        return [visible_block(text).replace("\n", "\n    ") for text in said]


def _revived(kind: type[AutocodeError], args: tuple[str, ...], state: dict[str, object]) -> AutocodeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


# What a person wrote


class InvalidRequest(AutocodeError):
    """An option, a name, a type or a value in the cell or the call cannot be understood."""


class UnsupportedData(AutocodeError):
    """A value cannot cross into the sandbox without being changed; the message names the column or the key."""


class DataDrift(AutocodeError):
    """A frame given to `run()` differs in columns or dtypes from the one that the function was built on."""


class ContractBroken(AutocodeError):
    """A table does not satisfy the schema that the person demanded of it.

    Args:
        what, why, hint: see `AutocodeError`.
        told: the same without any value of the data.
        name: of the input or output.
        failure_cases: pandera's table of all rows that fail, one a line.
    """

    def __init__(
        self, what: str, *, why: str = "", hint: str = "", told: str = "", name: str = "", failure_cases: object = None
    ) -> None:
        super().__init__(what, why=why, hint=hint)
        self.told = told
        self.name = name
        self.failure_cases = failure_cases


class UncheckedContractWarning(UserWarning):
    """A recorded function was called whose schema only the notebook has, so the tables were not held to it."""


class DriftWarning(UserWarning):
    """A frame given to `run()` differs from the one that the function was built on in columns that it does not read."""


class EarlierVersionWarning(UserWarning):
    """A call was answered by the function from before, because the newer run of that name has none (yet)."""


# The language model


class ModelError(AutocodeError):
    """The language model could not be asked, or its answer cannot be used."""


class AuthenticationFailed(ModelError):
    """No key, or one that the provider refuses. Never retried."""


class UnknownModel(ModelError):
    """The provider does not know the model. Never retried."""


class ModelUnavailable(ModelError):
    """Rate limits, overload, timeouts or lost connections that outlasted the retries."""


class UnusableAnswer(ModelError):
    """The answer stayed incomplete or unparsable after the repair rounds."""


class Locked(ModelError):
    """The model would have to be asked, and was not to be. `why` says what is not as it was recorded."""


class BudgetSpent(AutocodeError):
    """Iterations, tokens, money or seconds are used up.

    Args:
        what, why, hint: see `AutocodeError`.
        limit: the setting that says how much there is, such as `max_cost`.
    """

    def __init__(self, what: str, *, why: str = "", hint: str = "", limit: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.limit = limit


# The sandbox


class SandboxError(AutocodeError):
    """Base of what a sandbox can report."""


class SandboxUnavailable(SandboxError):
    """No sandbox can be used here. Generated code is never run without one."""


class EngineGone(SandboxError):
    """The sandbox stopped answering for reasons outside the program (daemon restarted, container removed)."""


class SandboxTimeout(SandboxError):
    """The program ran longer than allowed; its whole process tree was killed."""


class OutOfMemory(SandboxError):
    """The program needed more memory than allowed."""


class SandboxCrash(SandboxError):
    """The interpreter died: a signal, or an exit in the middle of a call. `signal` is its number, if any."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", signal: int | None = None) -> None:
        super().__init__(what, why=why, hint=hint)
        self.signal = signal


class OutputRefused(SandboxError):
    """What came back is too large, malformed or not what the protocol allows."""


class WrongType(SandboxError):
    """The function returned something else than its declared outputs."""


class SolutionError(SandboxError):
    """The function itself raised.

    Args:
        what: a sentence with the exception's type and message.
        exception_type: qualified name of what was raised.
        line: line number in the solution where it came from, 1-based; None when outside of it.
        source: the text of that line.
        stderr: the end of what the program wrote to standard error.
        traceback: the traceback inside the sandbox, ours left out.
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
    """An environment cannot be made. `package` is the distribution at fault, when one is."""

    def __init__(self, what: str, *, why: str = "", hint: str = "", package: str | None = None) -> None:
        super().__init__(what, why=why, hint=hint)
        self.package = package


class PackageRefused(PackageError):
    """A person declined a package, or policy forbids it (no wheel, a path or a URL instead of a name)."""


# The life of a job


class GenerationFailed(AutocodeError, ValueError):
    """A generation ended without a function that can be trusted; the best attempt is on the result.

    Also a ValueError, which is what Flyte raises here.
    """


class Cancelled(AutocodeError):
    """Somebody cancelled, or a newer run of the same cell took over."""


@contextlib.contextmanager
def writing(what: str, place: Path) -> Iterator[None]:
    """Around all that writes `what` to `place`.

    Raises:
        InvalidRequest: it cannot be written there: no permission, no room, a file where a folder must be.
    """
    try:
        yield
    except OSError as error:
        at_fault = f" ({error.filename})" if error.filename and str(error.filename) != str(place) else ""
        raise InvalidRequest(
            f"{what} cannot be written to {place}.",
            why=f"{error.strerror or error}{at_fault}.",
            hint="Choose a place that you may write to.",
        ) from None
