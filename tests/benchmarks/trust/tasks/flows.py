"""Events and states: funnels, retention, stock, waiting."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _events(random: np.random.Generator) -> Tables:
    size = 260
    table = {
        "user": random.choice([f"u{i}" for i in range(50)], size),
        "step": random.choice(["visit", "cart", "pay"], size, p=[0.55, 0.3, 0.15]),
        "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(size * 9)[:size], unit="min"),
    }
    return {"events": pd.DataFrame(table)}


def _users(random: np.random.Generator) -> Tables:
    joined = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60, 70), unit="D")
    users = pd.DataFrame({"user": np.arange(70), "joined": joined})
    who = random.integers(0, 70, 240)
    logins = pd.DataFrame({"user": who, "day": joined[who] + pd.to_timedelta(random.integers(0, 25, 240), unit="D")})
    return {"users": users, "logins": logins}


def _stock(random: np.random.Generator) -> Tables:
    size = 150
    return {
        "moves": pd.DataFrame(
            {
                "item": random.choice(["i1", "i2", "i3"], size),
                "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(size), unit="D"),
                "change": random.integers(-20, 22, size),
            }
        )
    }


def _calls(random: np.random.Generator) -> Tables:
    begin = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(random.integers(0, 600, 70)), unit="min")
    return {
        "calls": pd.DataFrame({"begin": begin, "end": begin + pd.to_timedelta(random.integers(1, 40, 70), unit="min")})
    }


def _tickets(random: np.random.Generator) -> Tables:
    size = 200
    table = pd.DataFrame(
        {
            "ticket": random.integers(1, 60, size),
            "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(size * 3)[:size], unit="h"),
            "state": random.choice(["open", "waiting", "closed"], size, p=[0.4, 0.3, 0.3]),
        }
    )
    return {"history": table}


TASKS = (
    Task(
        name="from visit to pay",
        request="The share of users of @events with a visit who paid after their first visit.",
        tables=_events,
        returns="float",
        assumptions=("A pay before the first visit does not count.", "No user with a visit gives a missing value."),
        right="""
            first = events[events["step"] == "visit"].groupby("user")["at"].min()
            last = events[events["step"] == "pay"].groupby("user")["at"].max().reindex(first.index)
            return float((last > first).mean())
        """,
        same="""
            visited, paid = {}, set()
            for row in events.sort_values("at").itertuples():
                if row.step == "visit":
                    visited.setdefault(row.user, row.at)
                elif row.step == "pay" and row.user in visited:
                    paid.add(row.user)
            return len(paid) / len(visited) if visited else float("nan")
        """,
        wrong={
            "in any order": ("(last > first).mean()", "last.notna().mean()"),
            "of all users": ("(last > first).mean()", '(last > first).sum() / events["user"].nunique()'),
            "after the last visit": ('groupby("user")["at"].min()', 'groupby("user")["at"].max()'),
            "the first pay": ('== "pay"].groupby("user")["at"].max()', '== "pay"].groupby("user")["at"].min()'),
            "events for users": ("(last > first).mean()", '(last > first).sum() / (events["step"] == "visit").sum()'),
        },
        small="""
            events = pd.DataFrame({"user": ["a", "a", "b"], "step": ["visit", "pay", "visit"], "at": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])})
        """,
        weak={"The share of users": "assert run(events=events) == 0.5"},
        strong={
            "after their first visit": "events['step'] = ['pay', 'visit', 'visit']\nassert run(events=events) == 0.0",
            "with a visit": "events['user'] = ['a', 'c', 'b']\nassert run(events=events) == 0.0",
            "of users, not of visits": "more = pd.concat([events, events.iloc[[2]].assign(user='a', at=pd.Timestamp('2024-02-01'))])\nassert run(events=more) == 0.5",
            "any pay after it": "more = pd.concat([events, events.iloc[[1]].assign(at=pd.Timestamp('2023-12-31'))])\nassert run(events=more) == 0.5",
        },
    ),
    Task(
        name="back within a week",
        request="The share of @users who have a login in @logins on day 1 to 7 after joined (the day of joined itself is day 0).",
        tables=_users,
        returns="float",
        assumptions=("Of all users, also those without a login.",),
        right="""
            joined = logins["user"].map(users.set_index("user")["joined"])
            days = (logins["day"] - joined).dt.days
            back = set(logins.loc[days.between(1, 7), "user"])
            return float(users["user"].isin(back).mean())
        """,
        same="""
            rows = users.merge(logins, on="user", how="left")
            after = rows["day"] - rows["joined"]
            hit = (after >= pd.Timedelta(days=1)) & (after < pd.Timedelta(days=8))
            return float(hit.groupby(rows["user"]).any().mean())
        """,
        wrong={
            "day 0 counts": ("between(1, 7)", "between(0, 7)"),
            "day 7 does not count": ("between(1, 7)", "between(1, 6)"),
            "of users with a login": ('users["user"].isin(back).mean()', 'len(back) / logins["user"].nunique()'),
            "only on day 7": ("between(1, 7)", "eq(7)"),
            "of logins": ('users["user"].isin(back).mean()', "days.between(1, 7).mean()"),
        },
        small="""
            users = pd.DataFrame({"user": [1, 2], "joined": pd.to_datetime(["2024-01-01", "2024-01-01"])})
            logins = pd.DataFrame({"user": [1, 2], "day": pd.to_datetime(["2024-01-03", "2024-01-30"])})
        """,
        weak={"The share of @users": "assert run(users=users, logins=logins) == 0.5"},
        strong={
            "day 1 to 7": "logins['day'] = pd.to_datetime(['2024-01-08', '2024-01-09'])\nassert run(users=users, logins=logins) == 0.5",
            "is day 0": "logins['day'] = pd.to_datetime(['2024-01-01', '2024-01-02'])\nassert run(users=users, logins=logins) == 0.5",
            "without a login": "assert run(users=users, logins=logins.iloc[:1]) == 0.5",
            "each user once": "logins['user'] = 1\nassert run(users=users, logins=logins) == 0.5",
        },
    ),
    Task(
        name="days below zero",
        request="The lowest stock of each item in @moves, by item: the sum of all changes up to a day, over its days with a change, starting with 0.",
        tables=_stock,
        returns={"item": "str", "lowest": "int64"},
        assumptions=("Changes are added in order of day; the 0 before the first one does not count.",),
        right="""
            ordered = moves.sort_values("day")
            stock = ordered.groupby("item")["change"].cumsum()
            return stock.groupby(ordered["item"]).min().rename("lowest").reset_index()
        """,
        same="""
            rows = []
            for item, part in moves.groupby("item"):
                level, lowest = 0, None
                for change in part.sort_values("day")["change"]:
                    level += int(change)
                    lowest = level if lowest is None else min(lowest, level)
                rows.append((item, lowest))
            return pd.DataFrame({"item": pd.Series([row[0] for row in rows], dtype="str"), "lowest": pd.Series([row[1] for row in rows], dtype="int64")})
        """,
        wrong={
            "not in order": ('moves.sort_values("day")', "moves"),
            "the stock at the end": (".min()", ".last()"),
            "the lowest change": ("stock.groupby", 'ordered["change"].groupby'),
            "over all items": ('ordered.groupby("item")["change"].cumsum()', 'ordered["change"].cumsum()'),
            "never above 0": (".min()", ".min().clip(upper=0)"),
        },
        small="""
            moves = pd.DataFrame({"item": ["a", "a"], "day": pd.to_datetime(["2024-01-01", "2024-01-02"]), "change": [-4, -3]})
        """,
        edge="""
            moves = pd.DataFrame({"item": ["a", "a"], "day": pd.to_datetime(["2024-01-01", "2024-01-02"]), "change": [4, 3]})
        """,
        weak={"The lowest stock": "assert run(moves=moves)['lowest'].tolist() == [-7]"},
        strong={
            "up to a day": "moves['change'] = [-4, 6]\nassert run(moves=moves)['lowest'].tolist() == [-4]",
            "in order of day": "assert run(moves=moves.assign(change=[5, -1]).iloc[::-1])['lowest'].tolist() == [4]",
            "of each item": "assert run(moves=moves.assign(item=['a', 'b']))['lowest'].tolist() == [-4, -3]",
        },
    ),
    Task(
        name="calls at a time",
        request="The largest number of @calls at the same time. A call that begins when another ends is not at the same time.",
        tables=_calls,
        returns="int",
        assumptions=("No calls give 0.",),
        right="""
            steps = pd.concat([pd.DataFrame({"at": calls["begin"], "step": 1}), pd.DataFrame({"at": calls["end"], "step": -1})])
            ordered = steps.sort_values(["at", "step"])["step"].cumsum()
            return int(ordered.max()) if len(ordered) else 0
        """,
        same="""
            most = 0
            for begin in calls["begin"]:
                most = max(most, int(((calls["begin"] <= begin) & (calls["end"] > begin)).sum()))
            return most
        """,
        wrong={
            "the end counts": ('sort_values(["at", "step"])', 'sort_values(["at", "step"], ascending=[True, False])'),
            "neighbours that overlap": 'ordered = calls.sort_values("begin")\nreturn int((ordered["begin"].iloc[1:].to_numpy() < ordered["end"].iloc[:-1].to_numpy()).sum()) + (1 if len(ordered) else 0)',
            "calls of an hour": 'return int(calls.groupby(calls["begin"].dt.floor("h")).size().max()) if len(calls) else 0',
            "one too few": ("int(ordered.max())", "int(ordered.max()) - 1"),
            "one overlap with the call before": 'ordered = calls.sort_values("begin")\nreturn 2 if (ordered["begin"].iloc[1:].to_numpy() < ordered["end"].iloc[:-1].to_numpy()).any() else min(1, len(calls))',
        },
        small="""
            calls = pd.DataFrame({"begin": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:05"]), "end": pd.to_datetime(["2024-01-01 10:30", "2024-01-01 10:20"])})
        """,
        edge="""
            calls = pd.DataFrame({"begin": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:05"]), "end": pd.to_datetime(["2024-01-01 10:05", "2024-01-01 10:20"])})
        """,
        weak={"at the same time": "assert run(calls=calls) == 2"},
        strong={
            "begins when another ends": "calls['end'] = pd.to_datetime(['2024-01-01 10:05', '2024-01-01 10:20'])\nassert run(calls=calls) == 1",
            "The largest number": "three = pd.concat([calls, calls.iloc[[1]]])\nassert run(calls=three) == 3",
            "not of calls one after the other": "three = pd.DataFrame({'begin': pd.to_datetime(['2024-01-01 10:00', '2024-01-01 10:10', '2024-01-01 10:20']), 'end': pd.to_datetime(['2024-01-01 10:12', '2024-01-01 10:22', '2024-01-01 10:30'])})\nassert run(calls=three) == 2",
        },
    ),
    Task(
        name="open tickets",
        request="How many tickets of @history are not closed in their last state (by at)?",
        tables=_tickets,
        returns="int",
        assumptions=("waiting is not closed.",),
        right="""
            last = history.sort_values("at").groupby("ticket")["state"].last()
            return int((last != "closed").sum())
        """,
        same="""
            rows = history.loc[history.groupby("ticket")["at"].idxmax()]
            return int(len(rows) - rows["state"].eq("closed").sum())
        """,
        wrong={
            "in the order of rows": ('history.sort_values("at")', "history"),
            "only open": ('!= "closed"', '== "open"'),
            "never closed": 'return int((~history["state"].eq("closed").groupby(history["ticket"]).any()).sum())',
            "the first state": ('["state"].last()', '["state"].first()'),
            "states for tickets": ('(last != "closed").sum()', '(history["state"] != "closed").sum()'),
        },
        small="""
            history = pd.DataFrame({"ticket": [1, 2], "at": pd.to_datetime(["2024-01-01", "2024-01-02"]), "state": ["open", "closed"]})
        """,
        weak={"not closed": "assert run(history=history) == 1"},
        strong={
            "in their last state": "history['ticket'] = 1\nassert run(history=history) == 0\nassert run(history=history.assign(state=['closed', 'open'])) == 1",
            "(by at)": "assert run(history=history.assign(ticket=1).iloc[::-1]) == 0",
            "waiting is not closed": "assert run(history=history.assign(state='waiting')) == 2",
            "How many tickets": "assert run(history=history.assign(ticket=1, state='open')) == 1",
        },
    ),
)
