"""The version of a request whose folder is open."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.capture import drawn_samples
from autocoder_jupyter.engine import surroundings
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.prepare import request_record
from autocoder_jupyter.engine.start import Start
from autocoder_jupyter.run.events import Noticed, SamplesDrawn, VersionBegun


@dataclass(frozen=True)
class OpenVersion:
    """The version whose folder is open.

    Args:
        start: where it starts from.
        environment: the text about versions of Python and packages for the model.
        context: the text about the data and the environment for the model.
    """

    start: Start
    environment: str
    context: str


async def open_version(setup: GenerationSetup, packages: Packages, start: Start) -> OpenVersion:
    """Open the folder of a version. The request is written there before anything is sent."""
    journal, config = setup.services.journal, setup.config
    await call_blocking(lambda: journal.begin(start.version))
    environment = _told_environment(setup, packages)
    is_made = start.kept is None and (not config.locked or start.carried is not None)
    if is_made:  # a run that asks no model sends nothing
        record = request_record(setup.request, config, setup.prepared.key)
        journal.write_request(record, setup.prepared.context.sent())
    setup.services.tell_notes()
    is_kept = start.kept is not None
    author = start.draft.author if start.draft is not None else "model"
    is_new = start.has_before and start.draft is None and not start.parent and config.cache == "auto"
    writer = _writer(setup, start)
    setup.emit(VersionBegun(start.version, start.why, is_kept, start.has_before, author, is_new, writer))
    if drawn := drawn_samples(setup.request.samples):
        setup.emit(SamplesDrawn(drawn))
    if start.withheld:
        setup.emit(Noticed(start.withheld))
    return OpenVersion(start, environment, surroundings.with_versions(setup.prepared.context.text, environment))


async def open_again(setup: GenerationSetup, version: OpenVersion) -> None:
    """Open the folder of a version that was left for another one."""
    journal, start = setup.services.journal, version.start
    await call_blocking(lambda: journal.begin(start.version))
    record = request_record(setup.request, setup.config, setup.prepared.key)
    journal.write_request(record, setup.prepared.context.sent())
    setup.emit(VersionBegun(start.version, start.why, False, start.has_before, writer=_writer(setup, start)))


def _writer(setup: GenerationSetup, start: Start) -> str:
    """Who writes or wrote the version; "" for a person."""
    is_of_model = start.kept is None and (start.draft is None or start.draft.author == "model")
    return start.written or (setup.config.model if is_of_model else "")


def _told_environment(setup: GenerationSetup, packages: Packages) -> str:
    """The text about the environment for the model: the recorded one, if the journal has one."""
    journal, key = setup.services.journal, setup.prepared.key.id
    before = surroundings.recalled(journal, key) if setup.config.cache == "auto" else ""
    lock = setup.prepared.pinned or setup.session.recorded_lock(packages.of_the_base(), ())
    return before or surroundings.versions(setup.config, lock)
