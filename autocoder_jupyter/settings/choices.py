"""The values of settings that are a choice."""

from typing import Literal

Share = Literal["rows", "stats", "schema"]
"""How much of the data the model may see: sample rows too, only statistics, or only names and dtypes."""

CachePolicy = Literal["auto", "override", "disable"]
Switch = Literal["on", "off"]

Opinion = Literal["auto", "on", "off"]
"""Whether there is a second opinion; `auto` leaves it to the effort."""
