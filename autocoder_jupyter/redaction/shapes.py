"""Patterns of secrets and personal identifiers in text.

Precision matters as much as recall: if a harmless id is masked, the model does not know what the column contains. So a
pattern is either unambiguous (`ghp_…`, a PEM header, an `@` with a domain), or a checksum confirms it.

Every pattern takes linear time on any text: a repetition is either bounded, or it begins only at the start of a run of
its characters, so that no character is visited from many starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from autocoder_jupyter.redaction import identifiers

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
            r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",  # Telegram
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
            r"sbp_[a-f0-9]{40}",  # Supabase
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
        accept: confirms a candidate.
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
    Shape("iban", re.compile(_IBAN), identifiers.is_iban, family="digits"),
    Shape("mac", re.compile(_MAC), family="words"),
    Shape("ip", re.compile(_IPV6), identifiers.is_ip, family="words"),
    Shape("card", re.compile(_CARD, re.MULTILINE), identifiers.is_card, family="digits", column=True),
    *(Shape("id", re.compile(pattern), check, family="digits", column=True) for pattern, check in identifiers.NATIONAL),
    Shape("ip", re.compile(_IPV4), identifiers.is_ip, family="words"),
    Shape("phone", re.compile(_PHONE), identifiers.is_phone, family="digits"),
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
