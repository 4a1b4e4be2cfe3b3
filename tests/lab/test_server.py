"""A kernel does not wait for the settings of a page if its server cannot serve our extension."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocoder_jupyter.lab import link, server
from autocoder_jupyter.lab.server import NAME, serves
from autocoder_jupyter.magics.notebook import Notebook


def installed(folder: Path) -> None:
    place = folder / "share" / "jupyter" / "labextensions" / NAME
    place.mkdir(parents=True)
    (place / "package.json").write_text("{}")


def test_the_environment_of_the_server_counts_not_that_of_the_kernel(tmp_path: Path) -> None:
    command = [str(tmp_path / "bin" / "python"), str(tmp_path / "bin" / "jupyter-lab")]
    assert not serves(command, shared=())
    installed(tmp_path)
    assert serves(command, shared=())


def test_a_shared_folder_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "user")
    command = ["/nowhere/bin/python", "-m", "jupyterlab"]
    assert serves(command, shared=[str(tmp_path / "user" / "share")])
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "user" / "share" / "jupyter"))
    assert serves(command, shared=())


def test_the_users_own_folder_of_jupyter_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "user")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "user" / "share" / "jupyter"))
    assert serves(["/nowhere/bin/python", "-m", "jupyterlab"], shared=())


def test_what_cannot_be_found_out_is_no_reason_to_miss_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serves(["python", "-m", "jupyterlab"], shared=())
    monkeypatch.setenv("JPY_PARENT_PID", "not a number")
    assert server.can_serve_extension()


def test_the_link_asks_for_it(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook.shell, "get_parent", lambda: {"metadata": {"cellId": "abc"}}, raising=False)
    opened = link.PageLink(notebook)
    for can in (True, False):
        monkeypatch.setattr(link, "can_serve_extension", lambda can=can: can)
        assert opened._may_have_page() is can
