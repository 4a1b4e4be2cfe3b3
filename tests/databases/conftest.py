from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import postgres


@pytest.fixture(scope="session")
def socket_folder() -> Iterator[Path]:
    """Where PostgreSQL listens; it is started once."""
    binaries = postgres.programs()
    if binaries is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI needs PostgreSQL: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed")
    with postgres.server(binaries) as folder:
        yield folder


@pytest.fixture
def postgres_url(socket_folder: Path) -> str:
    return f"postgresql+psycopg://{postgres.USER}@/{postgres.DATABASE}?host={socket_folder}"


@pytest.fixture
def psycopg_connection(socket_folder: Path) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(host=str(socket_folder), user=postgres.USER, dbname=postgres.DATABASE) as connection:
        yield connection
