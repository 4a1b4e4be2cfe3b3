"""A JupyterLab server for the tests, and a notebook in it that a browser controls."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

import autocoder_jupyter
from tests.magics import forked_kernels
from tests.magics.warm import ask

EXTENSION = Path(autocoder_jupyter.__file__).parent / "labextension"
"""The folder of the built lab extension; `make labextension` writes it."""

KERNEL_IS_IDLE = """() => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
    return context?.isReady && context.session?.kernel?.status === "idle";
}"""
"""The page also shows "idle" before there is a kernel. A user who types then is asked which kernel to start."""

CLOSE_NOTEBOOKS = """async () => {
    const shell = window.jupyterapp?.shell;
    if (!shell) return false;
    const documents = () => [...shell.widgets("main")].filter(widget => !widget.id.startsWith("launcher"));
    for (const widget of documents()) {
        if (widget.context) widget.context.model.dirty = false;  // or it asks whether to save
        widget.close();
    }
    shell.mode = "single-document";
    shell.collapseRight();  // where the panel is
    for (const button of document.querySelectorAll(".jp-Notification-Toast-Close")) button.click();
    for (let waited = 0; documents().length && waited < 5000; waited += 10) {
        await new Promise(resolve => setTimeout(resolve, 10));
    }
    return !documents().length && document.querySelector(".jp-Dialog") === null;
}"""
"""Closes all documents and resets the page. Returns whether it can be used for another notebook."""

RENEW_SETTINGS = """async ([plugins, theme]) => {
    const app = window.jupyterapp;
    const token = [...app.pluginRegistry._plugins.values()].map(plugin => plugin.provides)
        .find(token => token?.name === "@jupyterlab/coreutils:ISettingRegistry");
    const registry = await app.resolveRequiredService(token);
    for (const plugin of plugins) await registry.reload(plugin);
    while (document.body.dataset.jpThemeName !== theme) await new Promise(resolve => setTimeout(resolve, 10));
}"""
"""Reads the settings of plugins again in a loaded page, and waits until it has this theme."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


FORK_KERNELS = f"""\
from tests.magics import forked_kernels

forked_kernels.register()
forked_kernels.server(forked_kernels.KERNELS)
c.KernelProvisionerFactory.default_provisioner_name = {forked_kernels.NAME!r}
"""

START_LAB = """\
import functools
import importlib.metadata

import tests.light_jsonschema
from jupyterlab.labapp import main

importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)
main()
"""
"""For each page, the server looks for each format of nbconvert in all installed packages: a third of a second."""

COLD = "cold"
COLD_KERNEL = {
    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "Cold",
    "language": "python",
    "metadata": {"kernel_provisioner": {"provisioner_name": "local-provisioner"}},
}
"""A kernel that starts as a user's does, for tests of imports."""

THEME = "JupyterLab Light"
THEMES = "@jupyterlab/apputils-extension/themes"


def expect(locator: Any) -> Any:
    """Playwright's assertions about a part of a page. They wait up to 20 seconds for it to become true.

    A page is updated from several sources at different times: a card's text comes with its output, its buttons come
    over the link.
    """
    from playwright.sync_api import Expect

    waiting = Expect()
    waiting.set_options(timeout=20_000)
    return waiting(locator)


class Lab:
    """A server with its own settings, without those of the machine; a context manager.

    Args:
        folder: its root; notebooks are written there.
        env: further environment variables of kernels.
        theme: of JupyterLab.
    """

    def __init__(self, folder: Path, env: Mapping[str, str], theme: str = THEME) -> None:
        self.folder = folder
        self._state = folder.parent / f"{folder.name}-state"
        self._env = env
        self._warm: WarmSession | None = None
        self._theme = theme
        self._changed: set[str] = set()
        """Extensions whose settings were written since the server started."""
        self._write_settings()
        self._write_page_config()
        self._fork_kernels()
        self._link_extension()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"http://127.0.0.1:{free.getsockname()[1]}"

    def __enter__(self) -> Lab:
        command = [
            *(sys.executable, "-c", START_LAB, "--no-browser", "--allow-root"),
            *("--ServerApp.token=", "--ServerApp.password=", f"--ServerApp.port={self.address.rpartition(':')[2]}"),
            *(f"--ServerApp.root_dir={self.folder}", "--ServerApp.port_retries=0"),
            "--ServerApp.disable_check_xsrf=True",  # the tests send requests too
            *(f"--{app}.expose_app_in_browser=True" for app in ("LabApp", "JupyterNotebookApp")),
        ]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AUTOCODE_", "JUPYTER"))}
        own = {f"JUPYTER_{kind}_DIR": str(self._state / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
        own["JUPYTERLAB_SETTINGS_DIR"] = str(self._state / "settings")
        own["JUPYTERLAB_WORKSPACES_DIR"] = str(self._state / "workspaces")
        own["XDG_CONFIG_HOME"] = str(self._state / "user")  # the user's answers and permissions
        own["JUPYTER_PREFER_ENV_PATH"] = "0"  # another tree's extension may be installed in the environment
        own["PYTHONPATH"] = str(Path(autocoder_jupyter.__file__).parents[1])
        log = (self._state / "log").open("w")
        self._server = subprocess.Popen(
            command, env={**inherited, **own, **self._env}, stdout=log, stderr=log, start_new_session=True
        )
        self._wait_until_it_answers()
        return self

    def __exit__(self, *_: object) -> None:
        if self._warm is not None:
            self._warm.disconnect()
        self._server.send_signal(signal.SIGTERM)
        try:
            self._server.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()

    def write(self, name: str, cells: Sequence[str], kernel: str = "python3") -> Path:
        """Write a notebook with these code cells."""
        import nbformat  # takes a second, and every run of tests collects this

        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
        path = self.folder / name
        nbformat.write(notebook, path)
        return path

    def lend_kernel(self, name: str) -> None:
        """Give a notebook the reused kernel, reset; otherwise the notebook starts its own."""
        if self._warm is None:
            self._warm = WarmSession(self, name)
        self._warm.lend(name)

    def take_back_kernels(self) -> None:
        """Take back the reused kernel, and keep it if it can be reset. All others end.

        Raises:
            AssertionError: a test changed something in it that cannot be reset.
        """
        warm, self._warm = self._warm, None
        left = warm.take_back() if warm is not None else None
        if left == []:
            self._warm = warm
        for session in self.api("GET", "sessions"):
            if self._warm is None or session["id"] != self._warm.id:
                self.api("DELETE", f"sessions/{session['id']}")
        assert not left, f"This test left in its kernel: {left}"

    def api(self, method: str, place: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request to the server's API. Returns the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api/{place}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def connection_file(self, kernel: str) -> Path:
        """The connection file of a kernel of this server."""
        return self._state / "runtime" / f"kernel-{kernel}.json"

    def use_theme(self, theme: str) -> None:
        """Use a theme for notebooks that are opened from now on."""
        self._theme = theme
        self._changed.add(THEMES)
        self._write_settings()

    def use_settings(self, place: str, values: Mapping[str, Any]) -> None:
        """Use settings of one extension, `package/plugin`, for notebooks that are opened from now on."""
        self._changed.add(place)
        self._write(place, values)

    def renew_settings(self, page: Any) -> None:
        """Read the settings that were written since then again in a loaded page."""
        plugins = [":".join(place.rsplit("/", 1)) for place in sorted(self._changed)]
        page.evaluate(RENEW_SETTINGS, [plugins, self._theme])

    def _write(self, place: str, values: Mapping[str, Any]) -> None:
        path = self._state / "settings" / f"{place}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def _write_settings(self) -> None:
        for place, values in {**SETTINGS, THEMES: {"theme": self._theme}}.items():
            self._write(place, values)

    def _write_page_config(self) -> None:
        """Turn off the question whether to rebuild JupyterLab; for it the server starts Node twice for each page."""
        path = self._state / "config" / "labconfig" / "page_config.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"buildAvailable": False, "buildCheck": False}))

    def _fork_kernels(self) -> None:
        """Fork kernels from one process, except those of the kind "cold"."""
        (self._state / "config" / "jupyter_server_config.py").write_text(FORK_KERNELS)
        kernel = self._state / "data" / "kernels" / COLD / "kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(json.dumps(COLD_KERNEL))

    def _link_extension(self) -> None:
        """Install the extension of this tree, if it is built. No other extension is installed there."""
        link = self._state / "data" / "labextensions" / "autocoder-jupyter"
        link.parent.mkdir(parents=True, exist_ok=True)
        if (EXTENSION / "package.json").exists() and not link.is_symlink():
            link.symlink_to(EXTENSION)

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/api", timeout=60).close()
                return
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise RuntimeError((self._state / "log").read_text()[-2000:]) from None
                time.sleep(0.1)


PATIENCE_WITH_BUSY = 5.0
"""Seconds until an interrupted kernel must be idle."""


class WarmSession:
    """A kernel that several notebooks use one after the other. Pages find it by the path of its session.

    Args:
        lab: the server that it runs on.
        name: of the first notebook.
    """

    def __init__(self, lab: Lab, name: str) -> None:
        kernel = {"kernel": {"name": "python3"}}
        started = lab.api("POST", "sessions", {"path": name, "name": name, "type": "notebook", **kernel})
        self.id = str(started["id"])
        self._lab = lab
        self._kernel = str(started["kernel"]["id"])
        self._client = BlockingKernelClient(connection_file=str(lab.connection_file(self._kernel)))
        self._client.load_connection_file()
        self._client.start_channels(hb=False)

    def lend(self, name: str) -> None:
        """Use it for a notebook."""
        self._lab.api("PATCH", f"sessions/{self.id}", {"path": name, "name": name})
        ask(self._client, f"enter({str(self._lab.folder)!r}, {{}})")

    def take_back(self) -> list[str] | None:
        """Reset it. Returns what could not be reset; None if it is busy, or has ended."""
        left = ask(self._client, "leave()") if self._is_idle() else None
        if left != []:
            self.disconnect()
        return left

    def disconnect(self) -> None:
        """Disconnect from it; the server keeps it."""
        self._client.stop_channels()

    def _is_idle(self) -> bool:
        """Whether it answers. What still runs in it is interrupted first, because waiting for its end takes too long.

        The server reports a kernel that answers on a subshell as idle, so every kernel is interrupted. An idle kernel
        ignores it.
        """
        self._lab.api("POST", f"kernels/{self._kernel}/interrupt")
        deadline = time.monotonic() + PATIENCE_WITH_BUSY
        while self._state() == "busy" and time.monotonic() < deadline:
            time.sleep(0.05)
        return self._state() == "idle"

    def _state(self) -> str:
        kernels = {kernel["id"]: kernel["execution_state"] for kernel in self._lab.api("GET", "kernels")}
        return str(kernels.get(self._kernel))


class NotebookPage:
    """An open notebook, used as a user does.

    Args:
        page: Playwright's.
        lab: the server.
        name: of the notebook.
        view: `doc` for JupyterLab, `notebooks` for Notebook 7, which the same server provides.
        loaded: JupyterLab is already loaded in the page, without a notebook.
    """

    def __init__(self, page: Any, lab: Lab, name: str, view: str = "doc", *, loaded: bool = False) -> None:
        self.page = page
        self.name = name
        if loaded:
            page.evaluate("path => void window.jupyterapp.commands.execute('docmanager:open', { path })", name)
        else:
            # A separate workspace, because `?reset` may load the page a second time while a test already types.
            place = f"{view}/workspaces/{uuid.uuid4().hex}/tree" if view == "doc" else view
            page.goto(f"{lab.address}/{place}/{urllib.parse.quote(name)}")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
        self.wait_until_idle()

    def cell(self, number: int) -> Any:
        """A cell, by its index from 0."""
        return self.page.locator(".jp-Notebook > .jp-WindowedPanel-outer .jp-Cell, .jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int) -> Any:
        """The output area of a cell."""
        return self.cell(number).locator(".jp-Cell-outputWrapper")

    def card(self, number: int) -> Any:
        """The card in a cell's output."""
        return self.output(number).locator(".autocode-card")

    def run(self, number: int) -> None:
        """Run one cell with the keyboard."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")

    def wait_until_idle(self) -> None:
        """Wait until the kernel answers and is idle."""
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)

    def wait_for_prompt(self, number: int) -> None:
        """Wait until a cell has run, by its prompt."""
        finished = self.cell(number).locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[\d+\]"))
        finished.wait_for(timeout=60_000)

    def save(self) -> None:
        """Save the notebook and wait until that is done."""
        with self.page.expect_response(lambda answer: answer.request.method == "PUT" and ".ipynb" in answer.url):
            self.page.keyboard.press("Control+s")
