"""Programs that the engine runs in the sandbox. Each is a file in this folder, which is sent as text."""

from __future__ import annotations

from pathlib import Path


def program_text(name: str, **constants: object) -> str:
    """The source of the program in `name`.py of this folder, as `with_constants` gives it."""
    return with_constants(Path(__file__).with_name(f"{name}.py").read_text("utf-8"), **constants)


def with_constants(source: str, **constants: object) -> str:
    """The source of a program, with some constants of its module set.

    Args:
        source: the source of the program.
        constants: values by name, made of literals. They are assigned below the source.
    """
    lines = [f"{name} = {value!r}" for name, value in constants.items()]
    return "\n".join([source, *lines, ""] if lines else [source])
