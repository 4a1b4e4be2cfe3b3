"""A real JupyterLab in a real browser. Only the answers of the model are scripted."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.lab import CLOSE_NOTEBOOKS, COLD, EXTENSION, Lab, NotebookPage
from tests.scripted_model import Answer, ScriptedModel

ARTIFACTS = Path(__file__).parents[2] / "artifacts"
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first of these that is installed is used. A shell has no window, and needs less processor time."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # another page of JupyterLab uses the compiled scripts of the first, half a second each
    "--js-flags=--no-opt",  # no test runs long enough to gain from V8's slow compiler, which takes half a second a load
)

VIEWPORT: Any = {"width": 1100, "height": 900}
MOTION: Any = "reduce"
"""An animation draws sixty pictures a second. The test of animations turns them on."""

Reply = Callable[[Callable[[dict[str, Any]], "str | Answer"]], ScriptedModel]
Open = Callable[..., NotebookPage]


class Window:
    """The window of a Chromium with a profile on disk, which keeps the compiled scripts of JupyterLab.

    Playwright's default window for a test has no profile and compiles the scripts for each page, which takes two
    seconds of processor time. Everything else in the profile is deleted after each test.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        (self._blank,) = context.pages  # the browser ends with its last page
        self._devtools = context.new_cdp_session(self._blank)

    @property
    def pages(self) -> list[Any]:
        """The pages that tests have opened."""
        return [page for page in self._context.pages if page != self._blank]

    def new_page(self) -> Any:
        return self._context.new_page()

    def clear(self, address: str, keep: Any) -> None:
        """Close all pages but one, and delete what pages from this address have stored in the browser."""
        for page in self.pages:
            if page != keep:
                page.close()
        self._context.clear_permissions()
        stored = {"origin": address, "storageTypes": "local_storage,indexeddb,cache_storage,service_workers"}
        self._devtools.send("Storage.clearDataForOrigin", stored)
        if keep is None:
            self._context.clear_cookies()


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium. Without it the tests are skipped, except in CI, where they fail.

    Playwright keeps an event loop running in this thread while it lives, so it ends with the tests of this folder.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if os.environ.get("CI") != "true":
        if importlib.util.find_spec("playwright") is None:
            pytest.skip("playwright is not installed")
        if program is None:
            pytest.skip("there is no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        profile = tmp_path_factory.mktemp("chromium")
        window = playwright.chromium.launch_persistent_context(
            profile, executable_path=program, args=list(FLAGS), viewport=VIEWPORT, reduced_motion=MOTION
        )
        yield window.browser
        window.close()


@pytest.fixture(scope="package")
def window(chromium: Any) -> Window:
    return Window(chromium.contexts[0])


@pytest.fixture(scope="package")
def extension() -> None:
    """Requires the built lab extension; a module that needs it names this fixture in `usefixtures`."""
    if not (EXTENSION / "package.json").exists():
        reason = "the lab extension is not built; `make labextension` does it and needs Node"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="package")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(scripts.answer) as model:
        yield model


@pytest.fixture(scope="package")
def lab(chromium: Any, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    env = {
        "AUTOCODE_MODEL": "openai/scripted",
        "AUTOCODE_API_BASE": model.url,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_SECOND_OPINION": "off",
        "AUTOCODE_EFFORT": "quick",
        "AUTOCODE_MAX_ITERATIONS": "2",
        "AUTOCODE_CACHE": "disable",
    }
    with Lab(folder, env) as lab:
        yield lab


@pytest.fixture
def reply(model: ScriptedModel) -> Iterator[Reply]:
    """Sets another script of the model for one test."""

    def generated(script: Callable[[dict[str, Any]], str | Answer]) -> ScriptedModel:
        model._answer = script
        return model

    yield generated
    model._answer = scripts.answer


class Desk:
    """The one page that tests reuse, because loading JupyterLab takes three seconds of processor time."""

    def __init__(self, window: Window, lab: Lab) -> None:
        self._window = window
        self._lab = lab
        self._page: Any = None

    def lend(self) -> tuple[Any, bool]:
        """A page, and whether JupyterLab is already loaded in it. Such a page has read its settings again."""
        if self._page is None:
            self._page = self._window.new_page()
            return self._page, False
        self._lab.renew_settings(self._page)
        return self._page, True

    def take_back(self, *, keep: bool) -> Any:
        """Reset the page. Returns it, or None if it must not or cannot be reused."""
        page, self._page = self._page, None
        if keep and page is not None and not page.is_closed():
            page.set_viewport_size(VIEWPORT)
            page.emulate_media(reduced_motion=MOTION)
            page.mouse.move(0, 0)
            if page.evaluate(CLOSE_NOTEBOOKS):
                self._page = page
        return self._page


@pytest.fixture(scope="package")
def desk(window: Window, lab: Lab) -> Desk:
    return Desk(window, lab)


FAILED = pytest.StashKey[bool]()
"""Whether the last phase of a test failed. `session.testsfailed` does not count a test that is run again."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    item.stash[FAILED] = call.excinfo is not None


@pytest.fixture
def notebook(window: Window, desk: Desk, lab: Lab, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens a new notebook with these cells after the data. If a test fails, a screenshot is saved in `artifacts/`.

    Its page and its kernel are reused from earlier tests. A test gets a new page if it is marked `own_page`, wants
    another `view` or prepares its page before it is loaded. It gets a new kernel if it is marked `own_kernel` or
    `cold_kernel`.
    """
    cold = request.node.get_closest_marker("cold_kernel")
    own_kernel = cold or request.node.get_closest_marker("own_kernel")
    own_page = request.node.get_closest_marker("own_page")
    name = f"{request.node.name}.ipynb"
    opened: list[NotebookPage] = []

    def open_notebook(
        *cells: str, run_data: bool = True, view: str = "doc", prepare: Callable[[Any], None] | None = None
    ) -> NotebookPage:
        lab.write(name, [f"%load_ext autocoder_jupyter\n{scripts.DATA}", *cells], COLD if cold else "python3")
        if not opened and not own_kernel:
            lab.lend_kernel(name)
        lent = not (own_page or opened or prepare or view != "doc")
        tab, loaded = desk.lend() if lent else (window.new_page(), False)
        if prepare is not None:
            prepare(tab)
        page = NotebookPage(tab, lab, name, view, loaded=loaded)
        opened.append(page)
        if run_data:
            page.run(0)
            page.wait_for_prompt(0)
        return page

    ARTIFACTS.mkdir(exist_ok=True)
    yield open_notebook
    failed = request.node.stash.get(FAILED, True)
    for page in opened:
        if failed and not page.page.is_closed():
            page.page.screenshot(path=ARTIFACTS / f"{request.node.name}.png")
    window.clear(lab.address, desk.take_back(keep=not failed))
    lab.take_back_kernels()
