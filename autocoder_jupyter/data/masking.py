"""Secrets and personal identifiers in text, replaced by stable placeholders before a model sees it.

Precision counts as much as recall: a plain id that is masked by mistake hides from the model what the column is.
So everything here needs either a shape that nothing else has (`ghp_…`, a PEM header, an `@` with a domain) or a
checksum (Luhn, mod 97). Hashes, UUIDs, and long numbers stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_PEM = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]*-----|[\s\S]*)"
_JWT = r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
_TOKENS = "|".join(
    (
        r"\bsk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic and those who copy them
        r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
        r"\bgh[pousr]_[A-Za-z0-9]{30,}",
        r"\bgithub_pat_[A-Za-z0-9_]{22,}",
        r"\bglpat-[A-Za-z0-9_-]{20,}",
        r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",  # Slack
        r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b",  # AWS
        r"\bAIza[A-Za-z0-9_-]{35}",  # Google
        r"\bya29\.[A-Za-z0-9_-]{20,}",
        r"\bhf_[A-Za-z0-9]{30,}",
        r"\bnpm_[A-Za-z0-9]{36}\b",
        r"\bpypi-[A-Za-z0-9_-]{50,}",
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
        r"\bdop_v1_[a-f0-9]{64}\b",
        r"\bdapi[a-f0-9]{32}\b",  # Databricks
        r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
        r"(?<=\bBearer )[A-Za-z0-9._~+/-]{16,}=*",
        r"(?<=\bBasic )[A-Za-z0-9+/]{16,}=*",
    )
)
_URL_PASSWORD = (
    r"(?i:\b(?:postgres(?:ql)?|mysql|mariadb|mssql|oracle|mongodb|redis|rediss|amqps?)(?:\+\w+)?://[^\s:/@]*:)"
    r"(?P<secret>\S+)(?=@)"
    r"|\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@]+:(?P<secret2>[^\s@/]+)(?=@)"
)
_ASSIGNED = (
    r"(?i:\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|secret[_-]?key|client[_-]?secret|account[_-]?key"
    r"|auth[_-]?token|access[_-]?token|refresh[_-]?token|token)[\"']?)"
    r"(?:\s*=\s*|\s*:\s*(?=[\"']|\S*\d))[\"']?(?P<secret>[^\s\"';,&<>]{6,})"
)
_EMAIL = r"(?<![\w.+-])[\w][\w.+%'-]{0,63}@(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}\b"
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
_CARD = r"(?<![\w.,+-])\d(?:[ -]?\d){12,18}(?![\w]|[.,]\d)"
_PHONE = (
    r"(?<![\w.+])\+[1-9]\d{0,2}(?:[ -]?\(\d{1,4}\))?(?:[ -]?\d{2,12}){1,5}(?![\w]|[.,]\d)"
    r"|(?<![\w)])\(\d{3}\) ?\d{3}-\d{4}(?!\w)"
)


@dataclass(frozen=True)
class _Kind:
    name: str
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] = field(default=lambda text: True)
    secret: bool = False


def _luhn(digits: str) -> bool:
    total = 0
    for position, sign in enumerate(reversed(digits)):
        value = int(sign) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    if not digits.isascii() or len(set(digits)) < 2 or not _luhn(digits):
        return False
    size, head = len(digits), int(digits[:4])
    issuers = (
        (digits[0] == "4" and size in (13, 16, 19)),
        (size == 16 and (5100 <= head <= 5599 or 2221 <= head <= 2720)),
        (size == 15 and digits[:2] in ("34", "37")),
        (size in (16, 19) and (head == 6011 or digits[:2] in ("64", "65", "62", "35"))),
        (size == 14 and digits[:2] in ("36", "38", "30")),
    )
    return any(issuers)


def _is_iban(text: str) -> bool:
    packed = text.replace(" ", "")
    if not 15 <= len(packed) <= 34:
        return False
    return int("".join(str(int(sign, 36)) for sign in packed[4:] + packed[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return 9 <= sum(sign.isdigit() for sign in text) <= 15


_KINDS = (
    _Kind("private-key", re.compile(_PEM), secret=True),
    _Kind("jwt", re.compile(_JWT), secret=True),
    _Kind("secret", re.compile(_TOKENS), secret=True),
    _Kind("password", re.compile(_URL_PASSWORD), secret=True),
    _Kind("password", re.compile(_ASSIGNED), secret=True),
    _Kind("email", re.compile(_EMAIL)),
    _Kind("iban", re.compile(_IBAN), _is_iban),
    _Kind("card", re.compile(_CARD), _is_card),
    _Kind("phone", re.compile(_PHONE), _is_phone),
)

MASKED_KINDS: tuple[str, ...] = tuple(dict.fromkeys(kind.name for kind in _KINDS))

_CANDIDATE = re.compile(
    r"@|://|[=:]|-----|eyJ|[A-Za-z0-9_-]{14}|\+\d|\(\d{3}\)|[A-Z]{2}\d{2}|\d(?:[ -]?\d){11}|Bearer|Basic"
)
"""What every pattern above needs one of: most cells have none, and are done with in one look."""

_BARE_DIGITS = re.compile(r"\d{13,19}")
_PLACEHOLDER = re.compile(rf"<({'|'.join(MASKED_KINDS)})-(\d+)>")

CARD_COLUMN_SHARE = 0.6
"""One number in ten passes Luhn by chance, so a column of bare digits holds cards only if most of them pass."""


class Masker:
    """Replaces what must not leave by placeholders such as `<email-1>`, the same one for the same value.

    Numbers are given in the order of first appearance, so equal input in equal order gives equal output.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def mask(self, text: str, *, secrets_only: bool = False, bare_cards: bool = True) -> str:
        """`text` with placeholders.

        Args:
            text: some thousand characters at most; hostile text takes quadratic time (4,000: 30 ms).
            secrets_only: leave e-mails, numbers and the like; for names of columns, which code must use as they are.
            bare_cards: treat a run of digits without separators that passes Luhn as a card number.
        """
        if len(text) < 6 or _CANDIDATE.search(text) is None:
            return text
        for kind in _KINDS:
            if secrets_only and not kind.secret:
                continue

            def replace(match: re.Match[str], kind: _Kind = kind) -> str:
                return self._replacement(match, kind, bare_cards)

            text = kind.pattern.sub(replace, text)
        return text

    def for_column(self, texts: Iterable[str]) -> Callable[[str], str]:
        """A `mask` for the values of one column, which decides from all of `texts` whether bare digits are cards."""
        bare = [text for text in texts if _BARE_DIGITS.fullmatch(text)]
        cards = sum(map(_is_card, bare))
        bare_cards = not bare or cards >= CARD_COLUMN_SHARE * len(bare)
        return lambda text: self.mask(text, bare_cards=bare_cards)

    def _replacement(self, match: re.Match[str], kind: _Kind, bare_cards: bool) -> str:
        whole = match.group()
        group = next((name for name, value in match.groupdict().items() if value is not None), None)
        found = match.group(group) if group else whole
        if found.startswith("<") or not kind.accept(found):
            return whole
        if kind.name == "card" and not bare_cards and found.isdigit():
            return whole
        numbers = self._numbers.setdefault(kind.name, {})
        placeholder = f"<{kind.name}-{numbers.setdefault(found, len(numbers) + 1)}>"
        if group is None:
            return placeholder
        start, end = (place - match.start() for place in match.span(group))
        return whole[:start] + placeholder + whole[end:]


def count_masked(text: str) -> dict[str, int]:
    """How many different values of each kind stand as placeholders in a text."""
    found = sorted(set(_PLACEHOLDER.findall(text)))
    return {kind: count for kind in MASKED_KINDS if (count := sum(name == kind for name, _ in found))}
