"""The settings that decide what generated code and the model may access: sandbox, data, network."""

from dataclasses import dataclass
from typing import Annotated

from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.choices import Share, Switch
from autocoder_jupyter.settings.option import BOTH, Option
from autocoder_jupyter.settings.sandboxes import SandboxChoice, by_permissiveness, titles
from autocoder_jupyter.settings.setting import Page, Setting
from autocoder_jupyter.settings.tiers import ANY, MET_BY, MINIMUMS, TIERS, SandboxMinimum


@dataclass(frozen=True)
class AccessSettings:
    """What generated code and the model may access."""

    sandbox: Annotated[
        SandboxChoice,
        Setting("`docker`, `local`, or `auto` for the strongest that works"),
        Option(
            help="where generated code runs",
            flags=("--sandbox",),
            rule="stricter",
            order=by_permissiveness(),
            risk="generated code runs in a weaker sandbox",
            example="docker",
        ),
        Page(
            "Sandbox",
            "Where generated code runs. It never runs in the notebook's own kernel.",
            titles(),
        ),
    ] = "auto"
    sandbox_minimum: Annotated[
        SandboxMinimum,
        Setting(
            "the weakest sandbox that is accepted: `docker`, `full`, `landlock`, `namespaces` or `any`",
            check.sandbox_minimum,
            takes="MinimumTier | None",
        ),
        Option(
            "sandbox_minimum",
            "the weakest sandbox that is accepted: a container, or a tier of the local sandbox; otherwise nothing runs",
            flags=("--sandbox-minimum",),
            kind="choice",
            choices=MINIMUMS,
            field="sandbox_minimum.tier",
            rule="stricter",
            order=MINIMUMS,
            allowed=MET_BY,
            example="full",
            risk="generated code may run in a weaker sandbox",
            modes=BOTH,
        ),
        Page(
            "The weakest sandbox that is accepted",
            "If no sandbox meets it, nothing runs. The minimum of an administrator applies as well.",
            {"any": "Any sandbox that works", **{minimum: TIERS[minimum].title for minimum in MINIMUMS[1:]}},
        ),
    ] = ANY
    share: Annotated[
        Share,
        Setting("`rows`, `stats` or `schema`: how much of the data the model may see", shapes="how much is shared"),
        Option(
            help="how much of the data the model may see",
            flags=("--share",),
            rule="stricter",
            order=("rows", "stats", "schema"),
            risk="the model sees more of your data",
            modes=BOTH,
            example="stats",
        ),
        Page(
            "What the model may see of the data",
            "Secrets, e-mail addresses and card numbers are masked in any case.",
            {
                "rows": "A profile and a few sample rows",
                "stats": "Only statistics: no rows and no single texts",
                "schema": "Names and types of columns only",
            },
        ),
    ] = "rows"
    hide: Annotated[
        tuple[str, ...],
        Setting(
            "columns of the samples that are hidden from the model; the function still gets them",
            takes="Iterable[str] | None",
            shapes="the hidden columns",
        ),
        Option(
            help="a column that is hidden from the model; the function still gets it",
            flags=("--hide",),
            kind="columns",
            placeholder="COLUMN",
            repeatable=True,
            rule="asks",
            risk="the model may see columns that you wanted to hide",
            modes=BOTH,
            example="customer_name",
        ),
    ] = ()
    mask: Annotated[
        tuple[str, ...],
        Setting(
            "columns of the samples whose values are hidden from the model",
            takes="Iterable[str] | None",
            shapes="the masked columns",
        ),
        Option(
            help="a column whose values are hidden from the model",
            flags=("--mask",),
            kind="columns",
            placeholder="COLUMN",
            repeatable=True,
            rule="asks",
            risk="the model may see values that you wanted to hide",
            modes=BOTH,
            example="salary",
        ),
    ] = ()
    drift: Annotated[
        Switch,
        Setting("`on` compares the values of later tables with the recorded ones, and warns of large differences"),
        Option(
            help="compare the values of later tables with the recorded ones, and warn of large differences",
            flags=("--drift",),
            rule="stricter",
            order=("off", "on"),
            risk="nobody warns you if the values of your data change",
            example="off",
        ),
    ] = "on"
    block_network: Annotated[
        bool,
        Setting("no network while generated code runs"),
        Option(
            "allow_network",
            "let generated code reach the network",
            flags=("--allow-network",),
            kind="flag",
            rule="stricter",
            order=(True, False),
            risk="generated code may send your data anywhere",
        ),
    ] = True
    ask: Annotated[
        bool,
        Setting("let the plan ask up to three questions before any code is written; `generate(answer=…)` answers them"),
        Option(
            help="let the plan ask you up to three questions before any code is written",
            flags=("--ask",),
            rule="free",
        ),
    ] = False
