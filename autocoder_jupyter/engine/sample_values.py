"""The values of today's samples: what of them is recorded, and how they differ from those of an existing function."""

from __future__ import annotations

from typing import Any

import pandas as pd

from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.value_drift import TableValues, recorded_values, value_drift, value_profiles
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.versions.store import Version


def recordable_values(setup: GenerationSetup) -> dict[str, dict[str, Any]]:
    """The values of the samples in figures, as far as they may be recorded. Reads up to 20,000 rows of each."""
    config = setup.config
    return value_profiles(setup.request.samples, config.share, WithheldColumns.of(config.hide, config.mask))


def sample_drift(setup: GenerationSetup, version: Version) -> tuple[str, ...]:
    """How the values of the samples differ from those of a version. Its record is untrusted."""
    report, config = version.report, setup.config
    reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
    withheld, words = {*config.hide, *config.mask}, []
    for name, record in report.sample_values.items():
        value, then = setup.request.samples.get(name), recorded_values(record)
        if not isinstance(value, pd.DataFrame) or then is None:
            continue
        if config.share == "schema":  # numbers of rows may be told
            then = TableValues(rows=then.rows)
        told = value[[label for label in value.columns if str(label) not in withheld]] if withheld else value
        shows = setup.share_of_runs == "rows"
        words += [one.words for one in value_drift(name, told, then, reads, is_sample=True, show_values=shows)]
    return tuple(words)
