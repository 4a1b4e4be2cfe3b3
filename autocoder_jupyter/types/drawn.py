"""What is known of a sample that was drawn from a table whose rows are elsewhere."""

from __future__ import annotations

from autocoder_jupyter.types.record import Count, Record


class Drawn(Record):
    """A sample of the rows of a table.

    Args:
        kind: what the table is: `polars LazyFrame`.
        rows: how many rows were drawn.
        of: how many it has.
        seeded: whether they were drawn with a fixed seed. Without one, other rows are drawn the next time.
    """

    kind: str
    rows: Count
    of: Count
    seeded: bool = True

    @property
    def words(self) -> str:
        """`a sample of 10,000 of 41,000,000 rows`."""
        unseeded = "" if self.seeded else ", drawn without a seed: the next time, others are drawn"
        return f"a sample of {self.rows:,} of {self.of:,} rows{unseeded}"
