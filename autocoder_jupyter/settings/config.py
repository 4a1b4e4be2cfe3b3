"""`AgentConfig`: the single definition of every setting.

The constructor of `AutoCoderAgent`, its docstring and checks, the options of `%%autocode`, `%config`,
`[tool.autocode]`, the environment and JupyterLab's settings page are made from the annotations of its bases
(`generation`, `access`, `advanced`), some of them by `tools/generated.py`. A setting has a type and a default like any
field. `Setting` describes it, each `Option` says how it is written, `Page` how JupyterLab shows it.

These modules do not import pydantic, because `%load_ext` imports them. The annotations are evaluated instead.
"""

from dataclasses import dataclass

from autocoder_jupyter.settings.access import AccessSettings
from autocoder_jupyter.settings.advanced import AdvancedSettings
from autocoder_jupyter.settings.choices import CachePolicy, Opinion, Share, Switch
from autocoder_jupyter.settings.efforts import EffortName
from autocoder_jupyter.settings.engines import Backend
from autocoder_jupyter.settings.generation import GenerationSettings
from autocoder_jupyter.settings.sandboxes import SandboxChoice
from autocoder_jupyter.settings.setting import records

__all__ = [
    "RECORDS",
    "AgentConfig",
    "Backend",
    "CachePolicy",
    "EffortName",
    "Opinion",
    "SandboxChoice",
    "Share",
    "Switch",
    "without_effect",
]


@dataclass(frozen=True)
class AgentConfig(AdvancedSettings, AccessSettings, GenerationSettings):
    """The settings of a generation. Every field is a parameter of `AutoCoderAgent`, most are also options of a cell.

    A dataclass puts the fields of its last base first.
    """


RECORDS = records(AgentConfig)
"""The settings by name."""


def without_effect(backend: Backend) -> dict[str, Backend]:
    """The settings that have an effect only with another backend, and that backend."""
    only = {name: record.setting.only for name, record in RECORDS.items()}
    return {name: other for name, other in only.items() if other not in (None, backend)}
