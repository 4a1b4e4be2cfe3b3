"""Replace secrets and personal identifiers in a text by stable placeholders, before it leaves the notebook.

Names of persons, postal codes, and values that are private only by their meaning have no pattern and are not found.
"""

from __future__ import annotations

import importlib
import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Literal

# Checks of identifiers by their checksum, numbering plan or range

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


_BLANK = "[ \u00a0\u2009\u202f]"


def _without_blanks(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: check(re.sub(_BLANK, "", text))


def _after(words: str) -> str:
    """Nine digits after one of these words. Without it, one number in ten would pass the checksum."""
    return rf"(?i:(?:{words})(?:[ -]?(?:nummer|number|nr\.?|no\.?))?(?: is)?[ :#=]{{1,3}})(?P<number>\d{{9}})"


_OPEN, _SHUT = r"(?<![\w.,+/:-])", r"(?!\w|[.,:/-]\d)"

NATIONAL: tuple[tuple[str, Callable[[str], bool]], ...] = tuple(
    (_OPEN + pattern + _SHUT, check)
    for pattern, check in (
        (r"(?!000)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", bool),
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", _is_insurance_number),
        (r"\d{3}[ -]\d{3}[ -]\d{4}", _confirmed_by("gb.nhs")),
        (
            r"[12]@\d{2}@(?:0[1-9]|1[0-2]|[2-9]\d)@(?:\d{2}|2[AB])@\d{3}@\d{3}@\d{2}".replace("@", f"{_BLANK}?"),
            _without_blanks(_confirmed_by("fr.nir")),
        ),
        (r"\d{4}\.\d{2}\.\d{3}", _confirmed_by("nl.bsn")),
        (_after("bsn|burgerservicenummer|sofinummer"), _confirmed_by("nl.bsn")),
        (r"[1-9]\d{10}", _confirmed_by("tr.tckimlik")),
        (_after("sin|social insurance number"), _confirmed_by("ca.sin")),
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


# Patterns
#
# Precision matters as much as recall: if a harmless id is masked, the model does not know what the column contains. So
# a pattern is either unambiguous (`ghp_…`, a PEM header, an `@` with a domain), or a checksum confirms it.
#
# Every pattern takes linear time on any text: a repetition is either bounded, or it begins only at the start of a run
# of its characters, so that no character is visited from many starts.

_PEM = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}-----|[\s\S]*)"

_JWT = r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"

_TOKENS = (
    r"(?<![A-Za-z0-9_])(?:"
    + "|".join(
        (
            r"sk-[A-Za-z0-9_-]{20,}+",  # OpenAI, Anthropic and those who copy them
            r"(?:[rsp]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}+",  # Stripe
            r"gh[pousr]_[A-Za-z0-9]{30,}+",
            r"github_pat_[A-Za-z0-9_]{22,}+",
            r"gl(?:pat|rt|dt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20,}+",
            r"xox[abeprs]-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{10,}+",  # Slack
            r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
            r"AIza[A-Za-z0-9_-]{35}",  # Google
            r"ya29\.[A-Za-z0-9_-]{20,}+|GOCSPX-[A-Za-z0-9_-]{20,}+",
            r"hf_[A-Za-z0-9]{30,}+",
            r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
            r"pypi-[A-Za-z0-9_-]{50,}+",
            r"rubygems_[a-f0-9]{40,}+",
            r"dckr_pat_[A-Za-z0-9_-]{20,}+",
            r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
            r"key-[a-f0-9]{32}(?![A-Za-z0-9])",  # Mailgun
            r"(?:AC|SK)[a-f0-9]{32}(?![A-Za-z0-9])",  # Twilio
            r"\d{8,12}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])",  # Telegram
            r"do[por]_v1_[a-f0-9]{64}",  # DigitalOcean
            r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])",  # Databricks
            r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
            r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}+",  # Square
            r"hv[sbr]\.[A-Za-z0-9_-]{24,}+",  # Vault
            r"gl(?:sa|c)_[A-Za-z0-9_=+/-]{30,}+",  # Grafana
            r"sntrys_[A-Za-z0-9_=+/-]{30,}+",
            r"NRAK-[A-Z0-9]{27}",  # New Relic
            r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",  # Postman
            r"lin_api_[A-Za-z0-9]{40}",
            r"ntn_[A-Za-z0-9]{40,}+|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])",  # Notion
            r"AT(?:ATT3|BB)[A-Za-z0-9_=-]{28,}+",  # Atlassian
            r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",  # Airtable
            r"sbp_(?:v\d_|oauth_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}+",  # Supabase
            r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,}+",  # Tailscale
            r"nf[ckopu]_[A-Za-z0-9]{36,}+",  # Netlify
            r"lsv2_[ps][kt]_[a-f0-9]{32}_[a-f0-9]{10}|ls__[a-f0-9]{32}(?![A-Za-z0-9])",  # LangSmith
            r"fig[du]_[A-Za-z0-9_-]{40,}+",
            r"(?:gsk_|pplx-|r8_|xai-)[A-Za-z0-9]{36,}+",  # Groq, Perplexity, Replicate, xAI
            r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}+",
            r"EAA[A-Za-z0-9]{60,}+",  # Meta
            r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
        )
    )
    + r")|(?<=\bBearer )[A-Za-z0-9._~+/-]{16,}+=*|(?<=\bBasic )[A-Za-z0-9+/]{16,}+=*"
)

_URL_SECRET = (
    r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/_-]{20,100})"
    r"|discord(?:app)?\.com/api/webhooks/(?P<secret2>\d{10,20}/[A-Za-z0-9_-]{40,100})"
    r"|api\.telegram\.org/(?:file/)?bot(?P<secret4>\d{6,12}:[A-Za-z0-9_-]{30,50})"
    r"|[?&](?i:sig|signature|x-amz-signature|access_token|apikey|api_key|token|key)="
    r"(?P<secret3>[A-Za-z0-9%._~+/=-]{16,300})"
)
_URL_PASSWORD = (
    r"(?i:(?<![a-z])(?:postgres(?:ql)?|mysql|mariadb|mssql|oracle|mongodb|rediss?|amqps?)(?:\+\w{1,20})?://"
    r"[^\s:/@]{0,64}:)"
    r"(?P<secret>\S{1,128})(?=@)"
    r"|(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s:/@]{1,64}:(?P<secret2>[^\s@/]{1,128})(?=@)"
)
_ASSIGNED = (
    r"(?i:(?:\b|_|(?<=pg)|(?<=db)|(?<=shared))(?:password|passwd|passwort|passphrase|pwd|secret|api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key"
    r"|client[_-]?secret|account[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|token)[\"']?)"
    r"(?:\s{0,8}=\s{0,8}|\s{0,8}:\s{0,8}(?=[\"']|\S{0,100}\d))"
    r"(?:\"(?P<secret>[^\"\n]{6,200})(?=\")|'(?P<secret2>[^'\n]{6,200})(?=')|[\"']?(?P<secret3>[^\s\"';,&<>]{6,512}))"
)

_LABELS = r"(?:[\w-]{1,63}\.){1,8}(?:xn--[a-z0-9-]{2,40}|[^\W\d_]{2,24})(?![\w@])"
_EMAIL = (
    r"(?<![\w.+%-])\w[\w.+!#$&*~%'-]{0,63}@(?:" + _LABELS + r"|\[[0-9a-fA-F:.]{3,45}\])"
    r"|(?<![\w.+%-])\w[\w.+-]{0,63}%40" + _LABELS
    + r"|\"[^\"\s@]{1,30}(?: [^\"\s@]{1,30}){0,3}\"@" + _LABELS
    + r"|(?<![\w.+-])\w[\w.+-]{0,63} ?[\[({] ?(?i:at|ät) ?[\])}] ?[\w-]{1,63}"
    r"(?:(?:\.| ?[\[({] ?(?i:dot|punkt) ?[\])}] ?)[\w-]{1,63}){1,4}"
)  # fmt: skip

_GAP = "[ \u00a0\u2009\u202f.\u2010\u2011\u2013-]"
_IBAN = (
    rf"(?<![A-Za-z0-9])[A-Za-z]{{2}}\d{{2}}(?:{_GAP}?[A-Za-z0-9]{{4}}){{2,7}}"
    rf"(?:{_GAP}?[A-Za-z0-9]{{1,3}})?(?![A-Za-z0-9])"
)
_CARD = rf"(?<![\w.,+])(?<!\s-)(?<!^-)\d(?:{_GAP}{{0,2}}\d){{12,18}}(?![\w]|[.,]\d)"

_FOLLOWING = r"(?!\w|[.,:/-]\d)"
_PHONE = (
    rf"(?<![\w.+])(?:\+ ?|00 ?)[1-9](?:[ .()/\u00a0\u2011-]{{0,3}}\d){{7,14}}{_FOLLOWING}"
    rf"|(?<![\w)])\(\d{{2,5}}\) ?\d(?:[ .-]?\d){{5,9}}{_FOLLOWING}"
    rf"|(?<![\w.,+/:-])(?:1[-. ])?[2-9]\d\d([-. ])[2-9]\d\d\1\d{{4}}{_FOLLOWING}"
    rf"|(?<![\w.,+/:-])0\d(?:[ ./-]{{0,3}}\d){{7,10}}{_FOLLOWING}"
    r"|(?i:\b(?:tel|phone|telephone|telefon|mobile?|handy|cell|fax|whatsapp)\b[.:]?"
    r"(?: (?:is|me|us|at|on|no\.?|number|nr\.?))*"
    rf"[ :]{{0,3}})(?P<number>\d(?:[ ./-]?\d){{6,14}}){_FOLLOWING}"
)

_IPV4 = r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d|-\w)"
_IPV6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4})?(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?:::)?(?![\w:])"
_MAC = r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w:-])"

_WORD = r"[A-ZÀ-Þ][\w'’.-]{1,30}"
_STREET = (
    # 12B Baker Street, 1600 Pennsylvania Ave NW
    rf"(?<![\w.,-])\d{{1,5}}[A-Za-z]?,? (?![KMGTP]i?B\b)(?:[NSEW]\.? )?(?:{_WORD} ){{1,3}}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Highway|Hwy|Parkway|Pkwy|Close|Crescent|Gardens|Mews)\b\.?"
    # Hauptstraße 5, Berliner Str. 12a
    rf"|(?<!\w)(?:(?:{_WORD}[ -]){{0,2}}[A-ZÄÖÜ][\wß-]{{1,30}}"
    r"(?:straße|strasse|str\.|gasse|allee|platz|weg|damm|ufer|gracht|straat|laan|gatan)"
    rf"|(?:{_WORD}[ -]){{1,2}}(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Damm|Ufer))"
    r" \d{1,4} ?[a-z]?(?!\w|[.,]\d)"
    # 10 rue de la Paix
    r"|(?<![\w.,-])\d{1,4}(?: ?bis| ?ter)?,? (?:rue|avenue|boulevard|place|chemin|allée|impasse|quai|route|cours)"
    rf" (?:(?:de|du|des|la|le|les) |l['’]|d['’]){{0,3}}{_WORD}(?:[ -]{_WORD}){{0,3}}"
    # Calle de Alcalá 45, Via Roma, 1, Rua Augusta 1500
    r"|(?<!\w)(?:Calle|Avenida|Plaza|Paseo|C/|Via|Viale|Piazza|Corso|Rua|Travessa|Largo|Ulica|ul\.)"
    rf" (?:(?:de|del|della|delle|dei|da|do|dos|la|las|los|el) ){{0,3}}{_WORD}(?: {_WORD}){{0,3}}"
    r",? (?:n[º°.] ?)?\d{1,5}(?!\w|[.,]\d)"
    r"|(?i:(?<!\w)P\.? ?O\.? ?Box \d{1,6}\b)"
)

Family = Literal["words", "digits"]


@dataclass(frozen=True)
class Shape:
    """One kind of private value.

    Args:
        name: the name of the kind in a placeholder.
        pattern: finds candidates. A named group is the private part; without a group the whole match is.
        secret: whether it gives access to something. Secrets are masked also in names.
        family: the pre-check of a text: `words` (a sign of a secret) or `digits` (six digits).
        column: whether plain digits count in a column only if most of its values match.
    """

    name: str
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] = field(default=lambda text: True)
    secret: bool = False
    family: Family = "words"
    column: bool = False


SHAPES = (
    Shape("private-key", re.compile(_PEM), secret=True),
    Shape("jwt", re.compile(_JWT), secret=True),
    Shape("secret", re.compile(_TOKENS), secret=True),
    Shape("secret", re.compile(_URL_SECRET), secret=True),
    Shape("password", re.compile(_URL_PASSWORD), secret=True),
    Shape("password", re.compile(_ASSIGNED), secret=True),
    Shape("email", re.compile(_EMAIL)),
    Shape("iban", re.compile(_IBAN), is_iban, family="digits"),
    Shape("mac", re.compile(_MAC), family="words"),
    Shape("ip", re.compile(_IPV6), is_ip, family="words"),
    Shape("card", re.compile(_CARD, re.MULTILINE), is_card, family="digits", column=True),
    *(Shape("id", re.compile(pattern), check, family="digits", column=True) for pattern, check in NATIONAL),
    Shape("ip", re.compile(_IPV4), is_ip, family="words"),
    Shape("phone", re.compile(_PHONE), is_phone, family="digits"),
    Shape("address", re.compile(_STREET)),
)

MASKED_KINDS: tuple[str, ...] = tuple(dict.fromkeys(shape.name for shape in SHAPES))
"""Names of all kinds, in the order of the search."""

WORDY = re.compile(
    r"@|%40|://|[=:]|-----|eyJ|[A-Za-z0-9_-]{14}|Bearer|Basic|[\[({] ?(?:at|AT|ät)|\d\.\d{1,3}\.\d"
    r"|\d[A-Za-z]? [A-Za-zÀ-Þ]|[a-zß./] \d|(?i:p\.? ?o\.? ?box)|hooks|webhooks"
)
"""Pre-check for the family `words`. Most cells do not match, and need no further search."""

DIGITS = re.compile(r"\d(?:[^\d]{0,3}\d){5}")
"""Pre-check for the family `digits`: six digits, close together."""

PLAIN = re.compile(r"-?\d+(?:\.\d+)?|\d{4}-\d\d-\d\d(?:[ T][\d:.+-]*Z?)?")
"""Numbers and timestamps, which most cells are. Only short ones skip the search."""


# The masker

_BARE = re.compile(r"\d{9,19}")
_PLACEHOLDER = re.compile(rf"<({'|'.join(MASKED_KINDS)})-(\d+)>")
_CUT_OFF = re.compile(r"(?:(?<!\d)\d{2,4}[ -]){0,5}[^\s…]{1,80}…\(\+(\d+)\)")

COLUMN_SHARE = 0.6
"""One number in ten passes a checksum by chance. So a column of plain digits holds cards only if most of them pass."""

_SECRET_SHAPES = tuple(shape for shape in SHAPES if shape.secret)
_SHORTEST = 6
_LONGEST_NUMBER = 16
_PLAIN_CHARACTERS = 10


class Masker:
    """Replaces private values by placeholders such as `<email-1>`. The same value always gets the same placeholder.

    Placeholders are numbered in the order of first occurrence, so equal input in equal order gives equal output.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def mask(self, text: str, *, secrets_only: bool = False, bare_numbers: bool = True) -> str:
        """`text` with placeholders, in linear time.

        A truncated word (followed by `…(+12)`) is removed, because a part of a secret matches no pattern.
        """
        if len(text) < _SHORTEST or (len(text) <= _PLAIN_CHARACTERS and PLAIN.fullmatch(text)):
            return text
        if "…(+" in text:
            text = _CUT_OFF.sub(_without_the_cut_word, text)
        present: set[Family] = set()
        if WORDY.search(text):
            present.add("words")
        if DIGITS.search(text):
            present.add("digits")
        for shape in _SECRET_SHAPES if secrets_only else SHAPES:
            if shape.family in present:
                text = shape.pattern.sub(self._replacing(shape, bare_numbers), text)
        return text

    def for_column(self, texts: Iterable[str]) -> Callable[[str], str]:
        """A `mask` function for one column. All of `texts` decide whether plain digits are private."""
        bare = [text for text in texts if _BARE.fullmatch(text)]
        confirmed = sum(any(shape.accept(text) for shape in SHAPES if _confirms(shape, text)) for text in bare)
        bare_numbers = not bare or confirmed >= COLUMN_SHARE * len(bare)
        return lambda text: self.mask(text, bare_numbers=bare_numbers)

    def _replacing(self, shape: Shape, bare_numbers: bool) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            whole = match.group()
            group = next((name for name, value in match.groupdict().items() if value is not None), None)
            found = match.group(group) if group else whole
            if found.startswith("<") or not shape.accept(found):
                return whole
            if shape.column and not bare_numbers and found.isdigit():
                return whole
            numbers = self._numbers.setdefault(shape.name, {})
            placeholder = f"<{shape.name}-{numbers.setdefault(found, len(numbers) + 1)}>"
            if group is None:
                return placeholder
            start, end = (place - match.start() for place in match.span(group))
            return whole[:start] + placeholder + whole[end:]

        return replace


def _confirms(shape: Shape, text: str) -> bool:
    return shape.column and shape.pattern.fullmatch(text) is not None


def _without_the_cut_word(match: re.Match[str]) -> str:
    word = match.group().rpartition("…")[0]
    number = match.group(1)
    return f"…(+{int(number) + len(word)})" if len(number) < _LONGEST_NUMBER else "…"


def count_masked(text: str) -> dict[str, int]:
    """The number of different placeholders of each kind in a text."""
    found = sorted(set(_PLACEHOLDER.findall(text)))
    return {kind: count for kind in MASKED_KINDS if (count := sum(name == kind for name, _ in found))}


# Placeholders for names of files and folders, which can contain names of persons or projects

_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def suffixes_of(name: str) -> str:
    """The known suffixes of a file name, at most two (`.csv.gz`). Other text after a dot is not included."""
    plain: list[str] = []
    for suffix in reversed(PurePosixPath(name).suffixes[-2:]):
        if not _PLAIN_SUFFIX.fullmatch(suffix) or suffix[1:].isdigit():
            break
        plain.insert(0, suffix.lower())
    known = {".gz", ".bz2", ".xz", ".zip", ".zst"}
    return "".join(plain if len(plain) == 2 and plain[1] in known else plain[-1:])


class FilePlaceholders:
    """Placeholders for paths, such as `folder-1/file-2.csv`. The same name always gets the same placeholder."""

    def __init__(self) -> None:
        self._folders: dict[str, int] = {}
        self._files: dict[str, int] = {}

    def of(self, path: str) -> str:
        """The placeholder of a relative path."""
        *folders, _ = path.split("/")
        parts = [
            f"folder-{self._folders.setdefault('/'.join(folders[: depth + 1]), len(self._folders) + 1)}"
            for depth in range(len(folders))
        ]
        number = self._files.setdefault(path, len(self._files) + 1)
        return "/".join([*parts, f"file-{number}{suffixes_of(path)}"])
