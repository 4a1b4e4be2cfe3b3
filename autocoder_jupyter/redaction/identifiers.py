"""Confirm identifiers by their checksum, numbering plan or range."""

from __future__ import annotations

import importlib
import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_NO_DIGIT = re.compile(r"\D")
_NO_SIGN = re.compile(r"[^0-9A-Za-z]")

_REGIONS = ("US", "GB", "FR", "DE", "IT", "ES", "AU", "JP", "BR", "IN", "CH", "AT", "NL", "SE")
"""Countries whose national phone formats, without a country prefix, are recognized."""

_NO_PHONE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}|\d{4}([./-])\d{1,2}\2\d{1,2}|\+?\d*\.\d+")
"""Dates, and numbers with a point."""

_WELL_KNOWN = re.compile(
    r"\(\d{3}\) ?\d{3}-\d{4}|(?:1[-. ])?[2-9]\d\d([-. ])[2-9]\d\d\1\d{4}"  # American
    r"|0\d{4} \d{6}|0\d{3} \d{3} \d{4}|02\d \d{4} \d{4}"  # British
)


def is_card(text: str) -> bool:
    """Whether it is a payment card number: issuer prefix, length and Luhn checksum."""
    digits = _NO_DIGIT.sub("", text)
    if not digits.isascii() or len(set(digits)) < 2 or not _luhn(digits):
        return False
    size, head = len(digits), int(digits[:4])
    issuers = (
        (digits[0] == "4" and size in (13, 16, 19)),
        (size == 16 and (5100 <= head <= 5599 or 2221 <= head <= 2720)),
        (size == 15 and digits[:2] in ("34", "37")),
        (size in (16, 19) and (head == 6011 or digits[:2] in ("64", "65", "62", "35"))),
        (size == 14 and digits[:2] in ("36", "38", "30")),
        (size == 16 and head in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763)),
    )
    return any(issuers)


def _luhn(digits: str) -> bool:
    total = 0
    for position, sign in enumerate(reversed(digits)):
        value = int(sign) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """Whether the checksum of an IBAN is valid. The length is not checked, to cover unknown countries too."""
    packed = _NO_SIGN.sub("", text).upper()
    if not 15 <= len(packed) <= 34 or not packed.isascii():
        return False
    return int("".join(str(int(sign, 36)) for sign in packed[4:] + packed[:4])) % 97 == 1


def is_ip(text: str) -> bool:
    """Whether it is a public IP address. Private networks and version numbers are excluded."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        own = address.is_loopback or address.is_unspecified or address.is_link_local
        return not own and any(len(part) >= 3 for part in text.split(":"))
    if any(address in net for net in _OWN_NETS):
        return False
    return sum(len(part) > 1 for part in text.split(".")) >= 2  # 1.2.3.4 counts as a version


_OWN_NETS = tuple(
    ipaddress.IPv4Network(net)
    for net in ("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
                "224.0.0.0/3")
)  # fmt: skip


@lru_cache(maxsize=4096)
def is_phone(text: str) -> bool:
    """Whether it is a phone number with a country prefix, or in the national format of a known country."""
    digits = _NO_DIGIT.sub("", text)
    if _NO_PHONE.fullmatch(text) or not 7 <= len(digits) <= 15:
        return False
    if text.startswith("+"):
        return len(digits) >= 9
    if text.isdigit() and text.startswith("0"):
        return False  # padded with zeros
    if text.startswith("00"):
        return len(digits) >= 11
    if _WELL_KNOWN.fullmatch(text) or not text.startswith(("0", "(")):
        return True  # another form counts only after a word such as "tel."
    return _is_written_like_a_phone(text)


def _is_written_like_a_phone(text: str) -> bool:
    phonenumbers: Any = importlib.import_module("phonenumbers")
    strict = phonenumbers.Leniency.STRICT_GROUPING
    return any(
        found.raw_string == text
        for region in _REGIONS
        for found in phonenumbers.PhoneNumberMatcher(text, region, leniency=strict)
    )


def _confirmed_by(module: str) -> Callable[[str], bool]:
    """A check of `python-stdnum`, which is imported for the first candidate."""

    def check(text: str) -> bool:
        return bool(importlib.import_module(f"stdnum.{module}").is_valid(text))

    return check


def _is_insurance_number(text: str) -> bool:
    return text[:2].upper() not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")


_OPEN, _SHUT = r"(?<![\w.,+/:-])", r"(?!\w|[.,:/-]\d)"

NATIONAL: tuple[tuple[str, Callable[[str], bool]], ...] = tuple(
    (_OPEN + pattern + _SHUT, check)
    for pattern, check in (
        (r"(?!000)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", bool),
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", _is_insurance_number),
        (r"\d{3}[ -]\d{3}[ -]\d{4}", _confirmed_by("gb.nhs")),
        (
            r"[12]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)(?:\d{2}|2[AB])\d{6}\d{2}"
            r"|[12] \d{2} (?:0[1-9]|1[0-2]|[2-9]\d) (?:\d{2}|2[AB]) \d{3} \d{3} ?\d{2}",
            _confirmed_by("fr.nir"),
        ),
        (r"\d{2} ?\d{3} ?\d{3} ?\d{3}", _confirmed_by("de.idnr")),
        (r"\d{8}-?[A-HJ-NP-TV-Z]", _confirmed_by("es.dni")),
        (r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]", _confirmed_by("es.nie")),
        (r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", _confirmed_by("it.codicefiscale")),
        (r"\d{11}", _confirmed_by("pl.pesel")),
        (r"\d{11}", _confirmed_by("no.fodselsnummer")),
        (r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", _confirmed_by("be.nn")),
        (r"(?:19|20)?\d{6}[-+]\d{4}", _confirmed_by("se.personnummer")),
        (r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]", _confirmed_by("fi.hetu")),
        (r"\d{6}-\d{4}", _confirmed_by("dk.cpr")),
        (r"756\.\d{4}\.\d{4}\.\d{2}", _confirmed_by("ch.ssn")),
        (r"\d{3}\.\d{3}\.\d{3}-\d{2}", _confirmed_by("br.cpf")),
        (r"\d{4}[ -]\d{4}[ -]\d{4}", _confirmed_by("in_.aadhaar")),
        (r"[A-Z]{3}[ABCFGHLJPTK][A-Z]\d{4}[A-Z]", _confirmed_by("in_.pan")),
        (r"\d{17}[\dX]", _confirmed_by("cn.ric")),
        (r"\d{6}-\d{7}", _confirmed_by("kr.rrn")),
        (r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d", _confirmed_by("mx.curp")),
        (r"\d{3}[ -]\d{3}[ -]\d{3}", _confirmed_by("ca.sin")),
        (r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]", _confirmed_by("cl.rut")),
        (r"\d{13}", _confirmed_by("za.idnr")),
    )
)
"""National identification numbers: pattern and check. US numbers have no checksum."""
