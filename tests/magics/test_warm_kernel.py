"""A reused kernel looks new to each test; a test that leaves something in it fails."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.forked import ROOT, ForkServer, server
from tests.magics import forked_kernels
from tests.magics.forked_kernels import fork_kernel
from tests.magics.warm import WarmKernel

TRACES = """\
%load_ext autocoder_jupyter
%config Autocode.model = 'openai/other'
%env AUTOCODE_SHARE=rows
import os
mine = 1"""

pytestmark = pytest.mark.kernel


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[WarmKernel]:
    warm = WarmKernel(tmp_path)
    yield warm
    warm.close()


def test_what_one_borrower_did_the_next_does_not_see(warm: WarmKernel, tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with warm.lent(folders[0], {"AUTOCODE_MODEL": "openai/first"}) as kernel:
        process = kernel.process_id
        assert kernel.run(TRACES).status == "ok"
    with warm.lent(folders[1], {}) as kernel:
        assert kernel.process_id == process
        assert "not found" in kernel.run("%autocode status").text
        assert kernel.printed("'mine' in globals(), 'os' in globals()") == "False False"
        seen = "[n for n in __import__('os').environ if n.startswith('AUTOCODE')], __import__('os').getcwd()"
        assert kernel.printed(seen) == f"[] {folders[1]}"
        kernel.run("%load_ext autocoder_jupyter")
        assert "openai/other" not in kernel.run("%autocode setup settings").displays[0]["text/plain"]


def test_what_cannot_be_put_back_fails_its_test_and_ends_the_kernel(warm: WarmKernel, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="hook post_run_cell"), warm.lent(tmp_path, {}) as kernel:
        process = kernel.process_id
        kernel.run("import autocoder_jupyter as a")
        kernel.run("get_ipython().events.register('post_run_cell', a.unload_ipython_extension)")
    with warm.lent(tmp_path, {}) as kernel:
        assert kernel.process_id != process


def test_a_kernel_finds_what_is_installed_whatever_path_its_server_was_started_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import nbformat

    least = ("tests.light_jsonschema", "ipykernel.kernelapp", "ipykernel.ipkernel")
    other = dataclasses.replace(forked_kernels.KERNELS, name=f"other-{os.getpid()}", modules=least)
    monkeypatch.setattr(forked_kernels, "KERNELS", other)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        server(other)
    found = "importlib.machinery.PathFinder.find_spec('autocoder_jupyter').name"
    cell = nbformat.v4.new_code_cell(f"import importlib, sys; [{found}, *sys.path]")
    forked_kernels.run_all(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert str(ROOT) in cell.outputs[0].data["text/plain"]


def test_processes_share_one_server_and_a_kernel_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    servers = [ForkServer(forked_kernels.KERNELS), ForkServer(forked_kernels.KERNELS)]
    kernels = [
        fork_kernel(each, ["-f", str(tmp_path / f"{number}.json")], str(tmp_path), dict(os.environ))
        for number, each in enumerate(servers)
    ]
    first, second = (psutil.Process(kernel.pid) for kernel in kernels)
    assert first.ppid() == second.ppid()
    assert first not in psutil.Process().children(recursive=True)
    servers[1].close()
    second.wait(timeout=30)
    assert kernels[0].poll() is None
    servers[0].close()
    first.wait(timeout=30)
