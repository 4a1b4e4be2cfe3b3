"""What a text of the user names: a path on this machine, or an address such as `s3://bucket/sales`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

_ADDRESS = re.compile(r"\s*([A-Za-z][\w+.:-]+):[/\\]")
"""`Path("s3://bucket")` is `s3:/bucket`. A drive of Windows has one letter, and `./s3:/bucket` is a path."""


def scheme_of(given: str | os.PathLike[str]) -> str:
    """The scheme of an address in lower case, such as `s3`; "" of a path."""
    found = _ADDRESS.match(os.fspath(given))
    return found.group(1).lower() if found else ""


def shown_address(address: str) -> str:
    """An address for messages, without a name, a key or parameters."""
    return visible(re.sub(r"(:[/\\]+).*@", r"\1", address.partition("?")[0], flags=re.DOTALL))[:200]


def local_path(given: str | os.PathLike[str], instead: str = "Name a file or a folder of this machine.") -> Path:
    """The path that is meant. An address is never a folder of that name; `file:///data` is the path `/data`.

    Args:
        given: what the user wrote.
        instead: what the user can do.

    Raises:
        InvalidRequest: it is an address, or an empty text, which would be the current folder.
    """
    if isinstance(given, str) and not given.strip():
        raise InvalidRequest(f"{given[:20]!r} is no path.", hint=f"{instead} The current folder is '.'.")
    scheme = scheme_of(given)
    if not scheme:
        return Path(given)
    address = os.fspath(given).strip()
    if scheme == "file" and isinstance(given, str):  # of `file://host/data`, a Path keeps no difference to /host/data
        parts = urlsplit(address)
        if parts.netloc in ("", "localhost") and parts.path.startswith("/") and not (parts.query or parts.fragment):
            path = unquote(parts.path)
            return Path(path[1:] if os.name == "nt" else path)
    raise InvalidRequest(f"{shown_address(address)!r} is an address of {scheme}, and not a path.", hint=instead)
