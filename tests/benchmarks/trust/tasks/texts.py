"""Text: parts of it, spellings, patterns, codes."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _mails(random: np.random.Generator) -> Tables:
    hosts = random.choice(["mail.org", "Mail.org", "work.com", "a.work.com"], 150, p=[0.4, 0.2, 0.3, 0.1])
    names = [f"user{number}" for number in random.integers(0, 60, 150)]
    shown = [f"{name}@{host}" for name, host in zip(names, hosts, strict=True)]
    shown[::17] = ["none"] * len(shown[::17])
    return {"contacts": pd.DataFrame({"contact": np.arange(150), "email": pd.Series(shown, dtype="str")})}


def _tags(random: np.random.Generator) -> Tables:
    words = np.array(["red", "blue", "Red", "big", "old"])
    rows = ["; ".join(random.choice(words, random.integers(0, 4))) for _ in range(120)]
    return {"items": pd.DataFrame({"item": np.arange(120), "tags": pd.Series(rows, dtype="str")})}


def _codes(random: np.random.Generator) -> Tables:
    numbers = random.integers(1, 90, 140)
    shown = [f"{number:05}" if number % 3 else f" {number} " for number in numbers]
    return {"parts": pd.DataFrame({"code": pd.Series(shown, dtype="str"), "stock": random.integers(0, 50, 140)})}


def _log(random: np.random.Generator) -> Tables:
    levels = random.choice(["INFO", "WARN", "ERROR", "error"], 160, p=[0.6, 0.2, 0.15, 0.05])
    took = random.integers(5, 4000, 160)
    lines = [
        f"{level} handled ERROR page in {ms}ms" if ms % 7 == 0 else f"{level} done in {ms}ms"
        for level, ms in zip(levels, took, strict=True)
    ]
    return {"log": pd.DataFrame({"line": pd.Series(lines, dtype="str")})}


def _names(random: np.random.Generator) -> Tables:
    first = random.choice(["Ann", "ann", "Bo", "Cy", "Dee"], 130)
    last = random.choice(["Lee", "lee", " Lee", "Day", "May"], 130)
    return {"guests": pd.DataFrame({"first": first, "last": last, "seats": random.integers(1, 5, 130)})}


TASKS = (
    Task(
        name="hosts of addresses",
        request="How many @contacts each host of an e-mail address has (what follows the @, in small letters), the most first; equal ones by name. Texts without @ do not count.",
        tables=_mails,
        returns={"host": "str", "contacts": "int64"},
        assumptions=("Each row is a contact.", "Subdomains are hosts of their own."),
        right="""
            host = contacts["email"].str.partition("@")[2].str.lower()
            counts = host[contacts["email"].str.contains("@")].value_counts().rename("contacts")
            table = counts.rename_axis("host").reset_index()
            return table.sort_values(["contacts", "host"], ascending=[False, True]).reset_index(drop=True)
        """,
        same="""
            found = {}
            for email in contacts["email"].dropna():
                if "@" in email:
                    host = email.split("@", 1)[1].lower()
                    found[host] = found.get(host, 0) + 1
            rows = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
            return pd.DataFrame({"host": pd.Series([host for host, _ in rows], dtype="str"), "contacts": pd.Series([n for _, n in rows], dtype="int64")})
        """,
        wrong={
            "capital letters are kept": (".str.lower()", ""),
            "texts without @ count": ('host[contacts["email"].str.contains("@")]', "host"),
            "the name before the @": ('.str.partition("@")[2]', '.str.partition("@")[0]'),
            "only the last two parts": (".str.lower()", '.str.lower().str.extract(r"([^.]+[.][^.]+)$")[0]'),
            "each address once": (
                'host[contacts["email"].str.contains("@")]',
                'host[contacts["email"].str.contains("@") & ~contacts["email"].duplicated()]',
            ),
        },
        small="""
            contacts = pd.DataFrame({"contact": [1, 2, 3], "email": ["a@x.org", "b@x.org", "c@y.com"]})
        """,
        weak={
            "each host": "assert run(contacts=contacts).to_dict('list') == {'host': ['x.org', 'y.com'], 'contacts': [2, 1]}"
        },
        strong={
            "in small letters": "contacts['email'] = ['a@X.org', 'b@x.org', 'c@y.com']\nassert list(run(contacts=contacts)['contacts']) == [2, 1]",
            "without @ do not count": "contacts['email'] = ['none', 'b@x.org', 'c@a.x.org']\nassert list(run(contacts=contacts)['host']) == ['a.x.org', 'x.org']",
            "Each row is a contact": "contacts['email'] = ['b@x.org', 'b@x.org', 'c@y.com']\nassert list(run(contacts=contacts)['contacts']) == [2, 1]",
        },
    ),
    Task(
        name="tags of items",
        request="How many @items have each tag (tags are separated by ; and blanks; capital letters do not matter), by tag. A tag that stands twice in an item counts once.",
        tables=_tags,
        returns={"tag": "str", "items": "int64"},
        assumptions=("Items without tags are left out.",),
        right="""
            tags = items["tags"].str.lower().str.split(";").explode().str.strip()
            table = pd.DataFrame({"tag": tags, "item": items.loc[tags.index, "item"].to_numpy()})
            table = table[table["tag"].fillna("") != ""].drop_duplicates()
            return table.groupby("tag").size().rename("items").reset_index()
        """,
        same="""
            counts = {}
            for text in items["tags"].fillna(""):
                for tag in {part.strip().lower() for part in text.split(";")} - {""}:
                    counts[tag] = counts.get(tag, 0) + 1
            names = sorted(counts)
            return pd.DataFrame({"tag": pd.Series(names, dtype="str"), "items": pd.Series([counts[name] for name in names], dtype="int64")})
        """,
        wrong={
            "capital letters matter": (".str.lower()", ""),
            "twice counts twice": (".drop_duplicates()", ""),
            "blanks are kept": (".str.strip()", ""),
            "the empty tag": ('table[table["tag"].fillna("") != ""]', "table"),
            "only the first tag": ('.str.split(";").explode()', '.str.split(";").str[0]'),
        },
        small="""
            items = pd.DataFrame({"item": [1, 2], "tags": ["red", "red"]})
        """,
        weak={"each tag": "assert run(items=items).to_dict('list') == {'tag': ['red'], 'items': [2]}"},
        strong={
            "separated by ; and blanks": "items['tags'] = ['red; big', 'big;old']\nassert run(items=items).to_dict('list') == {'tag': ['big', 'old', 'red'], 'items': [2, 1, 1]}",
            "do not matter": "items['tags'] = ['Red', 'red']\nassert list(run(items=items)['items']) == [2]",
            "counts once": "items['tags'] = ['red; red', '']\nassert run(items=items).to_dict('list') == {'tag': ['red'], 'items': [1]}",
        },
    ),
    Task(
        name="codes with zeros",
        request="The stock in @parts by code, as text of five digits with leading zeros, by code. Some codes came without the zeros and with blanks.",
        tables=_codes,
        returns={"code": "str", "stock": "int64"},
        assumptions=("The same code in two spellings is one code.",),
        right="""
            code = parts["code"].str.strip().str.zfill(5)
            return parts["stock"].groupby(code).sum().reset_index()
        """,
        same="""
            table = parts.assign(code=[f"{int(text):05d}" for text in parts["code"]])
            return table.groupby("code", as_index=False)["stock"].sum()
        """,
        wrong={
            "blanks are kept": (".str.strip()", ""),
            "spellings are not joined": (".str.zfill(5)", ""),
            "zeros are lost": (".str.strip().str.zfill(5)", '.str.strip().str.lstrip("0")'),
            "zeros behind": (".str.zfill(5)", '.str.ljust(5, "0")'),
            "the number of rows": (".sum()", ".count()"),
        },
        small="""
            parts = pd.DataFrame({"code": ["00012", "00012", "00034"], "stock": [1, 2, 4]})
        """,
        weak={"by code": "assert run(parts=parts).to_dict('list') == {'code': ['00012', '00034'], 'stock': [3, 4]}"},
        strong={
            "without the zeros": "parts['code'] = ['12', '00012', '00034']\nassert list(run(parts=parts)['stock']) == [3, 4]",
            "with blanks": "parts['code'] = [' 12 ', '00012', '34 ']\nassert run(parts=parts).to_dict('list') == {'code': ['00012', '00034'], 'stock': [3, 4]}",
        },
    ),
    Task(
        name="slow errors",
        request="The mean number of milliseconds of the lines of @log whose level (the first word) is ERROR, in capital or small letters.",
        tables=_log,
        returns="float",
        assumptions=("No such lines give a missing value.",),
        right="""
            level = log["line"].str.split().str[0].str.upper()
            ms = log["line"].str.extract(r"(\\d+)ms")[0].astype(float)
            return float(ms[level == "ERROR"].mean())
        """,
        same="""
            values = []
            for line in log["line"].dropna():
                words = line.split()
                if words and words[0].lower() == "error":
                    values.append(float(words[-1].removesuffix("ms")))
            return float(np.mean(values)) if values else float("nan")
        """,
        wrong={
            "ERROR anywhere": ('level == "ERROR"', 'log["line"].str.contains("ERROR", case=False)'),
            "only capital letters": (".str.upper()", ""),
            "all lines": ('ms[level == "ERROR"]', "ms"),
            "only the last digit": ('r"(\\d+)ms"', 'r"(\\d)ms"'),
            "the median": (".mean()", ".median()"),
        },
        small="""
            log = pd.DataFrame({"line": ["ERROR done in 8ms", "ERROR done in 4ms"]})
        """,
        weak={"The mean number": "assert run(log=log) == 6.0"},
        strong={
            "the first word": "log['line'] = ['INFO handled ERROR page in 50ms', 'ERROR done in 40ms']\nassert run(log=log) == 40.0",
            "capital or small": "log['line'] = ['error done in 50ms', 'ERROR done in 40ms']\nassert run(log=log) == 45.0",
            "mean": "three = pd.DataFrame({'line': ['ERROR in 1ms', 'ERROR in 2ms', 'ERROR in 12ms']})\nassert run(log=three) == 5.0",
        },
    ),
    Task(
        name="seats by guest",
        request="The seats of @guests by name (first and last, without blanks around, in capitals only at the beginning of each), by name.",
        tables=_names,
        returns={"name": "str", "seats": "int64"},
        assumptions=("Names that differ only by case or blanks are one guest.",),
        right="""
            name = guests["first"].str.strip().str.capitalize() + " " + guests["last"].str.strip().str.capitalize()
            return guests["seats"].groupby(name.rename("name")).sum().reset_index()
        """,
        same="""
            table = guests.assign(name=[f"{a.strip()} {b.strip()}".title() for a, b in zip(guests["first"], guests["last"], strict=True)])
            return table.groupby("name", as_index=False)["seats"].sum()
        """,
        wrong={
            "blanks of the last name": ('guests["last"].str.strip()', 'guests["last"]'),
            "case of the first name": ('guests["first"].str.strip().str.capitalize()', 'guests["first"].str.strip()'),
            "last name first": 'name = guests["last"].str.strip().str.capitalize() + " " + guests["first"].str.strip().str.capitalize()\nreturn guests["seats"].groupby(name.rename("name")).sum().reset_index()',
            "the largest booking": (".sum()", ".max()"),
            "all capitals": ('name.rename("name")', 'name.str.upper().rename("name")'),
        },
        small="""
            guests = pd.DataFrame({"first": ["Ann"], "last": ["Lee"], "seats": [3]})
        """,
        weak={"by name": "assert run(guests=guests).to_dict('list') == {'name': ['Ann Lee'], 'seats': [3]}"},
        strong={
            "without blanks": "two = pd.DataFrame({'first': ['Ann', 'Ann'], 'last': ['Lee', ' Lee'], 'seats': [1, 2]})\nassert run(guests=two).to_dict('list') == {'name': ['Ann Lee'], 'seats': [3]}",
            "by case": "two = pd.DataFrame({'first': ['ann', 'Ann'], 'last': ['Lee', 'LEE'], 'seats': [1, 2]})\nassert run(guests=two).to_dict('list') == {'name': ['Ann Lee'], 'seats': [3]}",
        },
    ),
)
