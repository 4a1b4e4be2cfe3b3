"""The link without a kernel: which messages it sends, when, and how often."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter import lab
from autocoder_jupyter.lab.link import UPDATE_SECONDS, PageLink
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.run.events import StageStarted, TextStreamed
from autocoder_jupyter.version import VERSION
from tests.lab.conftest import ScriptedChannel, ScriptedJobs


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_before_a_hello_nothing_is_said_and_no_thread_runs(
    shell: Any, link: PageLink, channels: list[ScriptedChannel]
) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame()")
    shell.run("%%autocode growth\nWords of @sales")
    assert channels[0].opening == {"protocol": 2, "version": VERSION}
    assert channels[0].said == [] and not link.has_page
    assert "autocode-link" not in [thread.name for thread in threading.enumerate()]


def test_the_display_knows_whether_there_is_a_page(
    notebook: Notebook, link: PageLink, channels: list[ScriptedChannel]
) -> None:
    assert not notebook.front_end.has_page()
    channels[0].say({"kind": "hello", "client": "page"})
    channels[0].wait_for("welcome")
    assert notebook.front_end.has_page() and link.has_page


def test_a_person_who_writes_a_cell_has_ready_what_it_needs(
    notebook: Notebook, jobs: ScriptedJobs, page: ScriptedChannel
) -> None:
    assert not notebook.prepared.is_set()
    for _ in range(2):
        page.say({"kind": "prepare"})
    wait_until(lambda: jobs.prepared)
    page.say({"kind": "hello", "client": "another"})
    page.wait_for("welcome", lambda said: said["client"] == "another")
    assert [thread for _, thread in jobs.prepared] == ["autocode-prepare"]


def test_a_job_is_told_when_it_changes_and_not_for_its_clock(
    shell: Any, jobs: ScriptedJobs, page: ScriptedChannel
) -> None:
    shell.run("%%autocode growth\nWords")
    jobs.last.tell(StageStarted("run", 2, 5))
    told = page.wait_for("jobs", lambda told: bool(told["jobs"]) and told["jobs"][0]["title"] == "Running the tests")
    (job,) = told["jobs"]
    assert (job["phase"], job["title"], job["facts"]) == ("running", "Running the tests", ["attempt 2 of 5"])
    count = len(page.of("jobs"))
    time.sleep(2.5)  # two heartbeats of the card
    assert len(page.of("jobs")) == count
    jobs.last.end("failed", error="It did not work.")
    job = page.wait_for("jobs", lambda told: bool(told["jobs"]) and told["jobs"][0]["phase"] == "failed")["jobs"][0]
    assert (job["rows"]["Reason"], job["progress"], job["cell_id"]) == (["It did not work."], 1.0, None)
    assert abs(job["started"] - time.time()) < 60 and job["seconds"] > 2


def test_a_flood_of_events_of_many_jobs_makes_at_most_four_lists_a_second(
    shell: Any, jobs: ScriptedJobs, page: ScriptedChannel
) -> None:
    for number in range(5):
        shell.run(f"%%autocode job_{number}\nWords")
    began, told = time.monotonic(), 0
    while time.monotonic() - began < 1.5:
        for job in jobs.submitted:
            job.tell(StageStarted("run", told, 9999))
            job.tell(TextStreamed("code", "x"))
        told += 1
    for job in jobs.submitted:
        job.end()
    page.wait_for("jobs", lambda message: all(job["phase"] == "ready" for job in message["jobs"]))
    times = [when for when, said in zip(page.times, page.said, strict=True) if said["kind"] == "jobs"][1:]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert told > 100
    assert min(gaps) >= UPDATE_SECONDS * 0.9
    assert len(times) <= (times[-1] - times[0]) / UPDATE_SECONDS + 2


def test_pages_that_talk_without_end_do_not_keep_the_jobs_back(
    shell: Any, jobs: ScriptedJobs, page: ScriptedChannel
) -> None:
    shell.run("%%autocode growth\nWords")
    stop = threading.Event()

    def talk() -> None:
        while not stop.is_set():
            page.say({"kind": "nothing"})
            time.sleep(0.001)

    talker = threading.Thread(target=talk)
    talker.start()
    jobs.last.tell(StageStarted("verify", 1, 1))
    page.wait_for("jobs", lambda told: bool(told["jobs"]) and told["jobs"][0]["title"] == "Verifying")
    stop.set()
    talker.join()


def test_a_second_hello_is_told_everything_again(page: ScriptedChannel) -> None:
    page.say({"kind": "hello", "client": "other"})
    page.wait_for("welcome", lambda told: told["client"] == "other")
    wait_until(lambda: len(page.of("data")) == len(page.of("jobs")) == 2)


def test_when_a_result_cannot_be_described_the_link_lives_on(
    shell: Any, page: ScriptedChannel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(notebook: Notebook) -> Any:
        raise RuntimeError("no list today")

    monkeypatch.setattr("autocoder_jupyter.lab.messages.listed", broken)
    monkeypatch.setattr("autocoder_jupyter.magics.references.describe", broken)
    shell.run("%%autocode growth -i x:int\nWords")
    page.say({"kind": "hello", "client": "other"})
    page.wait_for("welcome", lambda told: told["client"] == "other")
    assert page.ask("cancel", "growth")["ok"]
    assert capsys.readouterr() == ("", "")


def test_stopped_it_hears_and_says_nothing_and_leaves_no_hook(
    shell: Any, notebook: Notebook, jobs: ScriptedJobs, channels: list[ScriptedChannel]
) -> None:
    hooks = list(shell.events.callbacks["post_run_cell"])
    link = PageLink(notebook, lambda *how: channels.append(ScriptedChannel(*how)) or channels[-1])
    link.start()
    channels[0].say({"kind": "hello", "client": "page"})
    channels[0].wait_for("data")
    link.stop()
    said = len(channels[0].said)
    shell.run("%%autocode growth\nWords")
    jobs.last.end()
    assert channels[0].closed and not notebook.front_end.has_page()
    assert shell.events.callbacks["post_run_cell"] == hooks and notebook.front_end.views == []
    wait_until(lambda: "autocode-link" not in [thread.name for thread in threading.enumerate()])
    assert len(channels[0].said) == said


def test_a_kernel_without_comms_works_without(notebook: Notebook, shell: Any) -> None:
    def none(*how: Any) -> Any:
        raise ImportError("comm")

    link = PageLink(notebook, none)
    link.start()
    shell.run("%%autocode growth\nWords")
    assert not link.has_page
    link.stop()


def test_in_a_terminal_there_is_no_link(notebook: Notebook, shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(shell, "kernel")
    hooks = list(shell.events.callbacks["post_run_cell"])
    lab.connect(notebook)
    assert shell.events.callbacks["post_run_cell"] == hooks
    lab.disconnect(shell)


def test_nobody_waits_for_settings_where_none_can_arrive(
    shell: Any, notebook: Notebook, link: PageLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    class Settled(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0.0)
            return self.is_set()

    link._settled = Settled()
    notebook.front_end.await_settings()
    assert not waits  # this kernel hears nothing while a cell runs
    shell.kernel = SimpleNamespace(_allow_stdin=True, kernel_info={"supported_features": ["kernel subshells"]})
    for metadata in ({}, {"cellId": "vscode-notebook-cell:/home/me/growth.ipynb#W0sZmlsZQ%3D%3D"}):
        monkeypatch.setattr(shell, "get_parent", lambda told=metadata: {"metadata": told}, raising=False)
        notebook.front_end.await_settings()
    assert not waits  # no page of JupyterLab or Notebook runs this cell
    monkeypatch.setattr(shell, "get_parent", lambda: {"metadata": {"cellId": "1c4a"}})
    notebook.front_end.await_settings()
    assert len(waits) == 1
    link._settled.set()  # as when a page sent them, or closed something unknown
    notebook.front_end.await_settings()
    assert len(waits) == 1
