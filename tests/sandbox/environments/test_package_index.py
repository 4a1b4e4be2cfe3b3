"""pip's settings are passed to uv, and uv's own settings are kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.environments.uv import (
    UvSettings,
    find_uv,
    folder_indexes,
    hash_of_indexes,
    pip_settings,
    uv_settings,
)
from tests.hostile_folder import HOSTILE


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    return tmp_path


def _settings(home: Path, configuration: str = "", **environ: str) -> dict[str, str]:
    (home / ".config" / "pip" / "pip.conf").write_text(configuration, "utf-8")
    return dict(uv_settings({"HOME": str(home), "PIP_NO_INDEX": "0", **_silenced(), **environ}).variables)


def _silenced() -> dict[str, str]:
    """Hides the settings in this machine's pip files from a test."""
    machine = pip_settings({"HOME": "/nowhere", "XDG_CONFIG_HOME": "/nowhere"})
    return {
        f"PIP_{name.upper().replace('-', '_')}": " "
        for name in machine
        if name in ("index-url", "extra-index-url", "find-links", "proxy", "trusted-host")
    }


def test_an_index_url_becomes_the_default_index(home: Path) -> None:
    assert _settings(home, "[global]\nindex-url = https://index.example/simple\n")["UV_DEFAULT_INDEX"] == (
        "https://index.example/simple"
    )


def test_the_variable_is_stronger_than_the_file(home: Path) -> None:
    added = _settings(home, "[global]\nindex-url = https://a.example\n", PIP_INDEX_URL="https://b.example")
    assert added["UV_DEFAULT_INDEX"] == "https://b.example"


def test_the_section_of_install_is_stronger_than_the_global_one(home: Path) -> None:
    added = _settings(home, "[global]\nindex_url = https://a.example\n[install]\nindex-url = https://b.example\n")
    assert added["UV_DEFAULT_INDEX"] == "https://b.example"


def test_further_indexes_are_searched_for_the_best_version_as_pip_does(home: Path) -> None:
    added = _settings(home, "[global]\nextra-index-url =\n  https://a.example\n  https://b.example\n")
    assert added["UV_INDEX"] == "https://a.example https://b.example"
    assert added["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_folders_of_wheels_are_found(home: Path) -> None:
    assert _settings(home, PIP_FIND_LINKS="/wheels /more")["UV_FIND_LINKS"] == "/wheels,/more"


def test_no_index_becomes_an_option(home: Path) -> None:
    assert uv_settings({"HOME": str(home), "PIP_NO_INDEX": "1"}).options == ("--no-index",)


@pytest.mark.parametrize("variable", ["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_bundle_of_authorities_is_trusted(home: Path, variable: str) -> None:
    settings = uv_settings({"HOME": str(home), "PIP_CONFIG_FILE": os.devnull, variable: "/ca.pem"})
    assert settings.variables["SSL_CERT_FILE"] == "/ca.pem"


def test_a_bundle_that_uv_knows_already_stays(home: Path) -> None:
    assert "SSL_CERT_FILE" not in _settings(home, PIP_CERT="/ca.pem", SSL_CERT_FILE="/other.pem")


def test_proxy_timeout_and_trusted_hosts_go_along(home: Path) -> None:
    added = _settings(
        home, PIP_PROXY="http://proxy.example:3128", PIP_TRUSTED_HOST="a.example b.example", PIP_TIMEOUT="60"
    )
    assert added["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert added["UV_INSECURE_HOST"] == "a.example b.example"
    assert added["UV_HTTP_TIMEOUT"] == "60"


@pytest.mark.parametrize(
    "variable", ["UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"]
)
def test_uvs_own_variables_stand_alone(home: Path, variable: str) -> None:
    added = _settings(home, "[global]\nindex-url = https://a.example\n", **{variable: "https://own.example"})
    assert "UV_DEFAULT_INDEX" not in added


_INDEX = '[[index]]\nurl = "https://own.example"\n'


@pytest.mark.parametrize("text", [_INDEX, '[pip]\nindex-url = "https://own.example"\n'])
def test_uvs_own_file_stands_alone(home: Path, text: str) -> None:
    (home / ".config" / "uv").mkdir()
    (home / ".config" / "uv" / "uv.toml").write_text(text, "utf-8")
    assert "UV_DEFAULT_INDEX" not in _settings(home, "[global]\nindex-url = https://a.example\n")


def test_a_broken_file_is_passed_over(home: Path) -> None:
    (home / ".config" / "uv").mkdir()
    (home / ".config" / "uv" / "uv.toml").write_text("not toml at all [", "utf-8")
    assert _settings(home, "no section\n", PIP_INDEX_URL="https://a.example")["UV_DEFAULT_INDEX"] == "https://a.example"


def test_what_a_folder_wants_is_read_from_its_nearest_file(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "uv.toml").write_text(_INDEX, "utf-8")
    assert folder_indexes(inner) == (("index", "https://own.example"),)
    (tmp_path / "a" / "pyproject.toml").write_text(
        """[tool.uv]
        index-url = "https://one.example"
        extra-index-url = ["https://two.example"]
        find-links = ["wheels", "https://three.example"]
        [[tool.uv.index]]
        name = "named"
        url = "https://four.example"
        [[tool.uv.index]]
        url = "https://five.example"
        default = true
        [[tool.uv.index]]
        url = "https://six.example"
        explicit = true
        """,
        "utf-8",
    )
    assert folder_indexes(inner) == (
        ("index", "named=https://four.example"),
        ("default index", "https://five.example"),
        ("default index", "https://one.example"),
        ("index", "https://two.example"),
        ("find-links", str(tmp_path / "a" / "wheels")),
        ("find-links", "https://three.example"),
    )


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_of_the_folder_that_is_no_plain_file_wants_nothing(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text(_INDEX)
    (tmp_path / "project").mkdir()
    for name in ("uv.toml", "pyproject.toml"):
        HOSTILE[kind](tmp_path / "project" / name, outside)
    assert folder_indexes(tmp_path / "project") == ()


@pytest.mark.parametrize(
    "text",
    [
        "index = 5",
        "index = [5, {url = 5}, {url = 'https://a.example https://b.example'}, {url = ''}]",
        "[pip]\nindex-url = ['x y']",
        "pip = 'x'",
        "a." * 5_000 + "b = 1",
        "x = " + "[" * 50_000,
    ],
)
def test_a_strange_file_of_the_folder_wants_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "uv.toml").write_text(text)
    assert folder_indexes(tmp_path) == ()


def test_what_a_folder_wants_takes_the_place_of_pips_and_leaves_the_persons_variables(home: Path) -> None:
    wanted = (("default index", "https://theirs.example"), ("index", "a=https://b.example"), ("find-links", "/w"))
    environ = {"HOME": str(home), "PIP_INDEX_URL": "https://own.example", "PIP_CONFIG_FILE": os.devnull}
    assert uv_settings(environ, wanted).variables == {
        "UV_DEFAULT_INDEX": "https://theirs.example",
        "UV_INDEX": "a=https://b.example",
        "UV_FIND_LINKS": "/w",
    }
    assert uv_settings(environ, (("no-index", "true"),)).options == ("--no-index",)
    assert "UV_INDEX" not in uv_settings({**environ, "UV_DEFAULT_INDEX": "https://own.example"}, wanted).variables


def test_the_identity_of_an_index_hangs_on_its_address_and_not_on_credentials(home: Path) -> None:
    def identity(**environ: str) -> str:
        return hash_of_indexes({"HOME": str(home), **environ}, UvSettings({}))

    assert identity() == ""
    one = identity(UV_DEFAULT_INDEX="https://one.example/simple")
    assert one == identity(UV_DEFAULT_INDEX="https://user:password@one.example/simple") != ""
    others = {
        identity(UV_DEFAULT_INDEX="https://two.example"),
        identity(UV_FIND_LINKS="/one"),
        identity(UV_NO_INDEX="1"),
    }
    assert len(others | {one, ""}) == 5
    (home / ".config" / "uv").mkdir()
    (home / ".config" / "uv" / "uv.toml").write_text(_INDEX, "utf-8")
    assert identity() not in others | {one, ""}


def test_every_file_that_uv_reads_belongs_to_the_identity_of_an_index(tmp_path: Path) -> None:
    """uv itself says which index it asks."""
    environ = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "own"),
        "XDG_CONFIG_DIRS": str(tmp_path / "all"),
    }
    for number, folder in enumerate(("own", "all")):
        before = hash_of_indexes(environ, UvSettings({}))
        path = tmp_path / folder / "uv" / "uv.toml"
        path.parent.mkdir(parents=True)
        (tmp_path / f"wheels{number}").mkdir()
        path.write_text(f'no-index = true\nfind-links = ["{tmp_path}/wheels{number}"]\n')
        asked = subprocess.run(
            [find_uv(), "pip", "compile", "-", "--no-cache"], input="six", text=True, capture_output=True, env=environ
        )
        assert "six was not found in the provided package locations" in " ".join(asked.stderr.split())
        assert hash_of_indexes(environ, UvSettings({})) != before
        path.unlink()


def test_an_address_that_uv_would_read_as_two_is_not_wanted(tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text('find-links = ["https://good.example/,https://evil.example/", "wheels"]')
    assert folder_indexes(tmp_path) == (("find-links", str(tmp_path / "wheels")),)


def test_pip_without_configuration_adds_nothing(home: Path) -> None:
    assert uv_settings({"HOME": str(home), "PIP_CONFIG_FILE": os.devnull}).variables == {}
