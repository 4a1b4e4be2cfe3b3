"""The schemas of the samples of a report, as objects and as source. pandera is imported only if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.types import Report


def schemas_of(report: Report) -> Mapping[str, Any]:
    """See `CodeGenEvalResult.schemas`."""
    if not report.sample_schemas:
        return {}
    from autocoder_jupyter.contracts.sample_schema import schema_of

    return {name: schema_of(name, record) for name, record in report.sample_schemas.items()}


def sources_of(report: Report) -> Mapping[str, str] | None:
    """See `CodeGenEvalResult.generated_schemas`. For an older report, the source that was recorded in it."""
    if not report.sample_schemas:
        return report.generated_schemas
    from autocoder_jupyter.contracts.sample_schema import source_of

    return {name: source_of(name, record) for name, record in report.sample_schemas.items()}
