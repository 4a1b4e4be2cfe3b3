from __future__ import annotations

import uuid

from autocoder_jupyter.redaction.masking import Masker, count_masked
from tests.cases import each

SECRETS = [
    "sk-" + "abcdEFGH1234" * 4,
    "sk-ant-api03-" + "x9" * 20,
    "ghp_" + "a1B2c3" * 6,
    "github_pat_" + "1aB" * 10,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghij",
    "AIza" + "S" * 35,
    "hf_" + "a" * 34,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
]


@each("secret", SECRETS)
def test_a_secret_disappears(secret: str) -> None:
    masked = Masker().mask(f"before {secret} after")
    assert masked.startswith("before <")
    assert secret[8:24] not in masked


@each(
    ("text", "hidden"),
    [
        ("postgresql://bob:hunter2@db.example.org/x", "hunter2"),
        ("mongodb+srv://u:p/w@d@host/x", "p/w@d"),
        ("https://user:s3cr3tpw@host.example/path", "s3cr3tpw"),
        ("password=correcthorse", "correcthorse"),
        ("api_key: 'abc123def456'", "abc123def456"),
        ("Server=x;Password=Tr0ub4dor;", "Tr0ub4dor"),
        ('{"client_secret": "zxcvbnm1234"}', "zxcvbnm1234"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789"),
        ("write to mary.o'neil+x@mail.example.co.uk today", "neil"),
        ("4111 1111 1111 1111", "1111 1111"),
        ("card 5500-0055-5555-5559.", "5555"),
        ("371449635398431", "371449635398431"),
        ("DE89 3704 0044 0532 0130 00", "3704"),
        ("GB29NWBK60161331926819", "NWBK"),
        ("call +49 151 2345 6789", "2345"),
        ("(212) 555-0123", "555-0123"),
        ("1-800-555-0199", "555-0199"),
        ("219-09-9999", "219-09"),
        ('{"password": "p4ss w0rd two"}', "w0rd"),
        ("SharedAccessKey=abc123def456ghi789=", "abc123"),
        ("4111  1111  1111  1111", "1111  1111"),
    ],
)
def test_private_parts_disappear_and_the_rest_stays(text: str, hidden: str) -> None:
    masked = Masker().mask(text)
    assert hidden not in masked
    assert "<" in masked


@each(
    "text",
    [
        "1234567890123456",
        "4111111111111112",
        "20240131235959123",
        "1700000000000",
        "3.14159265358979312",
        "0.4111111111111111",
        "2024-01-31 23:59:59",
        "2024-01-31T23:59:59+02:00",
        str(uuid.UUID(int=2**100 + 12345)),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "DE12345678901234567890",
        "AB12CDEF34",
        "ORD-2024-000123",
        "+1.2345678901",
        "-1234567890",
        "user@localhost",
        "@handle",
        "a@b",
        "token economy: a survey",
        "the password policy",
        "secret: chocolate",
        "http://host:8080/path",
        "https://example.com/a?b=c@d",
        "192.168.100.200",
        "978-3-16-148410-0",
        "sk-learn",
        "eyJ is how it begins",
        "10:30:00",
        "0000000000000000",
        "12,345,678,901,234",
    ],
)
def test_plain_values_stay(text: str) -> None:
    assert Masker().mask(text) == text


def test_the_same_value_gets_the_same_placeholder() -> None:
    masker = Masker()
    assert masker.mask("a@x.org b@x.org a@x.org") == "<email-1> <email-2> <email-1>"
    assert masker.mask("b@x.org") == "<email-2>"


def test_a_column_of_ids_is_not_taken_for_cards() -> None:
    ids = [str(4_000_000_000_000_000 + 7919 * i) for i in range(100)]
    mask = Masker().for_column(ids)
    assert [mask(text) for text in ids] == ids


def test_a_column_of_cards_is_masked() -> None:
    cards = ["4111111111111111", "4012888888881881", "5555555555554444", "378282246310005"]
    mask = Masker().for_column(cards)
    assert [mask(card) for card in cards] == ["<card-1>", "<card-2>", "<card-3>", "<card-4>"]


def test_names_of_columns_lose_only_secrets() -> None:
    assert Masker().mask("mail of a@x.org", secrets_only=True) == "mail of a@x.org"
    assert "ghp_" not in Masker().mask("ghp_" + "a" * 36, secrets_only=True)


def test_masked_values_are_counted_once() -> None:
    assert count_masked("<email-1> <email-2> <email-1> <card-1> <b>") == {"email": 2, "card": 1}


def test_a_cut_off_word_with_a_number_of_any_length_disappears() -> None:
    assert Masker().mask(f"sk-proj-abc…(+{'9' * 5000}) and more") == "… and more"
