"""pip's settings reach uv, and uv's own are left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.package_index import pip_settings, uv_settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    return tmp_path


def _settings(home: Path, configuration: str = "", **environ: str) -> dict[str, str]:
    (home / ".config" / "pip" / "pip.conf").write_text(configuration, "utf-8")
    return dict(uv_settings({"HOME": str(home), "PIP_NO_INDEX": "0", **_silenced(), **environ}, home).variables)


def _silenced() -> dict[str, str]:
    """Settings of this machine's own pip files that a test must not see."""
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
    assert uv_settings({"HOME": str(home), "PIP_NO_INDEX": "1"}, home).options == ("--no-index",)


@pytest.mark.parametrize("variable", ["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_bundle_of_authorities_is_trusted(home: Path, variable: str) -> None:
    settings = uv_settings({"HOME": str(home), "PIP_CONFIG_FILE": os.devnull, variable: "/ca.pem"}, home)
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


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("uv.toml", '[[index]]\nurl = "https://own.example"\n'),
        ("uv.toml", '[pip]\nindex-url = "https://own.example"\n'),
        ("pyproject.toml", '[tool.uv]\nindex-url = "https://own.example"\n'),
    ],
)
def test_uvs_own_files_stand_alone(home: Path, file: str, text: str) -> None:
    (home / file).write_text(text, "utf-8")
    assert "UV_DEFAULT_INDEX" not in _settings(home, "[global]\nindex-url = https://a.example\n")


def test_a_project_file_that_names_no_index_changes_nothing(home: Path) -> None:
    (home / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.uv]\npackage = true\n", "utf-8")
    assert _settings(home, "[global]\nindex-url = https://a.example\n")["UV_DEFAULT_INDEX"] == "https://a.example"


def test_a_broken_file_is_passed_over(home: Path) -> None:
    (home / "uv.toml").write_text("not toml at all [", "utf-8")
    assert _settings(home, "no section\n", PIP_INDEX_URL="https://a.example")["UV_DEFAULT_INDEX"] == "https://a.example"


def test_pip_without_configuration_adds_nothing(home: Path) -> None:
    assert uv_settings({"HOME": str(home), "PIP_CONFIG_FILE": os.devnull}, home).variables == {}
