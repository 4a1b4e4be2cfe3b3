"""The machine that an address leads to, as words for a question."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from urllib.parse import urlsplit

_NAME = re.compile(r"[a-z0-9._:-]+")


def machine_of(address: str) -> str:
    """The host of an address: `the machine api.example.com`, or `an address that cannot be read`.

    An address can hide its host behind a user name, in letters of other scripts, or in a number: `http://2130706433` is
    127.0.0.1. HTTP clients read blanks, control characters and percent signs in a host in different ways.
    """
    try:
        host = urlsplit(address).hostname or ""
        name = host.encode("idna").decode("ascii")
        is_clear = host in (name, name.encode("ascii").decode("idna"))  # clients convert other letters differently
    except ValueError:
        is_clear = False
    if not is_clear or not address.isprintable() or " " in address or not _NAME.fullmatch(name):
        return "an address that cannot be read"
    return f"the machine {_without_disguise(name)}"


def _without_disguise(host: str) -> str:
    """A number as the address that it means; a name as it is."""
    with contextlib.suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))
    with contextlib.suppress(ValueError):
        number = ipaddress.ip_address(host)
        return str(getattr(number, "ipv4_mapped", None) or number)
    return host
