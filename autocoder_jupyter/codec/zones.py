"""Encode time zones by name or by offset. A zone without a name (one of dateutil, or from a file) is refused."""

from __future__ import annotations

import datetime as dt
import re
import sys
import zoneinfo
from typing import Any

from .errors import Corrupt, Unencodable

_KEY = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,3}")


def zone_to_json(zone: dt.tzinfo | None, path: str) -> dict[str, Any] | None:
    """`zone` as JSON; None if there is no zone.

    Args:
        zone: the time zone.
        path: the name of the value in an error.

    Raises:
        Unencodable: the zone has neither a fixed offset nor a standard name.
    """
    if zone is None:
        return None
    if type(zone) is dt.timezone:
        offset = zone.utcoffset(None)
        return {"offset": [offset.days, offset.seconds, offset.microseconds]}
    if isinstance(zone, zoneinfo.ZoneInfo) and zone.key:
        return {"zone": zone.key}
    name = getattr(zone, "zone", None)
    if type(zone).__module__.partition(".")[0] == "pytz" and isinstance(name, str):
        return {"zone": name, "pytz": True}
    raise Unencodable(path, f"has the time zone {zone!r}, which has no name to send", "use a zoneinfo.ZoneInfo")


def zone_from_json(value: Any) -> dt.tzinfo | None:
    """The zone that was written. A pytz zone becomes a `ZoneInfo` if pytz is not loaded here.

    Raises:
        Corrupt: it is not the name of a zone of this machine.
    """
    if value is None:
        return None
    if "offset" in value:
        days, seconds, microseconds = value["offset"]
        offset = dt.timedelta(days, seconds, microseconds)
        return dt.timezone(offset) if offset else dt.timezone.utc  # noqa: UP017
    key = value["zone"]
    if not isinstance(key, str) or len(key) > 100 or not _KEY.fullmatch(key):
        raise Corrupt(f"{str(key)[:100]!r} is not a time zone")
    if value.get("pytz"):
        pytz = _pytz()
        if pytz is not None:
            return pytz.timezone(key)  # type: ignore[no-any-return]
    try:
        return zoneinfo.ZoneInfo(key)
    except (OSError, ValueError, KeyError) as error:
        raise Corrupt(f"{key!r} is not a time zone that is known here") from error


def _pytz() -> Any:
    """The module pytz if it is loaded. pandas before 3 always loads it."""
    return sys.modules.get("pytz")
