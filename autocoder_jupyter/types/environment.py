"""Where generated code runs: image, resources, secrets."""

from __future__ import annotations

from pydantic import Field

from autocoder_jupyter.types.record import Record


class ImageConfig(Record):
    """Where a Docker image is built from and kept.

    Args:
        registry: prefix of the image's name; a built image is pushed there when `registry_secret` is given.
        registry_secret: name of an environment variable that holds `user:password` for that registry.
        python_version: (major, minor) inside the sandbox; the notebook's own by default.
        base_image: image to build upon; needs Python of `python_version`.
    """

    registry: str | None = None
    registry_secret: str | None = None
    python_version: tuple[int, int] | None = None
    base_image: str | None = None


class Resources(Record):
    """What a sandbox may use. `memory` is bytes, or a quantity such as `"512Mi"`, `"2Gi"`, `"1G"`."""

    cpu: float = Field(default=1.0, gt=0)
    memory: int | str = "2Gi"


class Secret(Record):
    """A secret, handed to the sandbox under `as_env_var`; `key` names the variable of the notebook that holds it."""

    key: str
    as_env_var: str | None = None


def parse_memory(quantity: int | str) -> int:
    """Bytes of a quantity such as `"512Mi"`, `"2Gi"`, `"1.5G"` or a plain number.

    Raises:
        ValueError: the text is not a quantity, or one that no machine has.
    """
    if isinstance(quantity, int):
        size: float = quantity
    else:
        text = quantity.strip()
        units = {
            "Ki": 2**10,
            "Mi": 2**20,
            "Gi": 2**30,
            "Ti": 2**40,
            "k": 1e3,
            "K": 1e3,
            "M": 1e6,
            "G": 1e9,
            "T": 1e12,
        }
        unit = next((u for u in units if text.removesuffix("B").endswith(u)), "")
        number = text.removesuffix("B").removesuffix(unit)
        try:
            size = float(number) * units.get(unit, 1)
        except ValueError:
            raise ValueError(f"{quantity!r} is not an amount of memory; write for instance '512Mi' or '2Gi'") from None
    if not 1 <= size < 2**63:
        raise ValueError(f"{str(quantity)[:80]!r} is not an amount of memory that a machine can have")
    return int(size)
