"""The base of all records: a frozen model, and types of fields with bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autocoder_jupyter.kinds.table import canonical


class Record(BaseModel):
    """A frozen record. Unknown keys are ignored, because models like to add some.

    It may come from a stranger's file, so its numbers are such as can be shown and computed with.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


Count = Annotated[int, Field(ge=0, le=2**53)]
"""A number of things, 0 or more."""


Elements = Annotated[str, AfterValidator(canonical)]
"""The element type of a list or dict; "" if it is not given."""
