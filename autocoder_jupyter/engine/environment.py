"""The environment of a generation's code: what it imports, what failures ask for, what the user must approve."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Set
from contextlib import suppress

from packaging.utils import canonicalize_name

from autocoder_jupyter.codec.geometry import LIBRARY, has_geometry
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.packages import (
    KNOWN_DISTRIBUTIONS,
    KNOWN_SYSTEM_PACKAGES,
    PackageNeeds,
    distribution_of,
    implied_by_figures,
    imported_modules,
    likely_meant,
    missing_packages,
    package_needs,
    requirement_name,
)
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import PackageError, PackageRefused, SandboxUnavailable
from autocoder_jupyter.run.events import ApprovalGiven, ApprovalNeeded
from autocoder_jupyter.sandbox.environments.locking import name_of, pin_of
from autocoder_jupyter.sandbox.protocol import Environment
from autocoder_jupyter.settings.choices import SANDBOXES
from autocoder_jupyter.settings.parameters import SYSTEM
from autocoder_jupyter.types import CodePlan, ErrorDiagnosis, Helpers, OutputSpec, TestFailure

CLIENT_SECONDS = 5.0
"""The most seconds for which workers wait until the first question is sent."""


class GenerationPackages:
    """Provides the environment of the current code, and learns from failures.

    The needed packages are read from the code each time. So a package that the model invented and then dropped is
    forgotten, and one that cannot be installed is refused before the resolver runs again.
    """

    def __init__(self, setup: GenerationSetup) -> None:
        self._setup = setup
        self._extra: set[str] = set()
        self._extra_system: set[str] = set()
        self._refused: dict[str, str] = {}
        self._refused_system: dict[str, str] = {}
        self._approved: set[str] = set(setup.config.approved_packages)
        self._declined: set[str] = set()
        self._unwanted: set[str] = set()  # packages that only recorded locks name
        self._declared: tuple[str, ...] = ()
        self._of_data = (LIBRARY,) if any(map(has_geometry, setup.request.samples.values())) else ()
        self._draws = False
        self._building = asyncio.Lock()
        self._base_is_there = asyncio.Event()
        self._base_is_there.set()  # no base environment is being built

    def begin_base(self, group: asyncio.TaskGroup) -> None:
        """Provide the base environment in a task of this group; `base_is_there` waits for it."""
        self._base_is_there.clear()
        group.create_task(self.provide_base())

    async def provide_base(self) -> None:
        """Build the environment that is used before there is code, and start workers in it while the model works."""
        await self._ask_consent(self._unknown_of_own_lock())
        await self._build(self.of_the_base(), ())
        self._base_is_there.set()
        with suppress(TimeoutError):  # a new kernel imports the model's client now, and has few cores
            async with asyncio.timeout(CLIENT_SECONDS):
                await self._setup.conversation.has_asked.wait()
        self._setup.session.warm(count=3)  # one for the tests, one for the function that they call, one for the sample

    async def base_is_there(self) -> None:
        """Wait until the base environment is built."""
        await self._base_is_there.wait()

    def declare(self, requirements: tuple[str, ...]) -> None:
        """Set the packages that the writer asks for. They replace those that it asked for before."""
        self._declared = requirements

    async def provide(self, plan: CodePlan, sources: tuple[str, ...]) -> TestFailure | None:
        """Build the environment for the current code and tests."""
        needs = self._needs(sources, plan)
        system_packages = await self._system_packages(plan)
        try:
            self._require_none_refused(needs)
            self._require_no_lookalike(needs)
            await self._ask_consent(needs.unknown)
            async with self._building:
                await self._build(needs.distributions, system_packages)
        except (PackageError, SandboxUnavailable) as error:
            if self._can_go_without(system_packages, error):
                return await self.provide(plan, sources)
            if isinstance(error, PackageError):
                return self._refuse(error)
            raise
        return None

    async def provide_early(self, plan: CodePlan, sources: tuple[str, ...]) -> bool:
        """Build the environment of code whose tests are still written, if that needs no consent.

        An attempt that begins meanwhile waits for it: it needs the same packages, if its tests need no others.
        """
        session, needs = self._setup.session, self._needs(sources, plan)
        if plan.system_packages or needs.unknown:
            return False
        async with self._building:
            with suppress(PackageError, SandboxUnavailable):
                lock = session.recorded_lock(needs.distributions, ())
                if not self._are_there(needs) and not await self._strange(lock, needs.distributions):
                    await self._build(needs.distributions, ())
                    session.warm(count=3)  # as in the base environment
            return self._are_there(needs)

    async def beside(self, code: str) -> Environment | None:
        """The environment of another solution; None if that of the function has all that it needs.

        The user is not asked for consent, because a second opinion is not worth a question.

        Raises:
            PackageError: it needs a package that is not well known, or cannot be installed.
        """
        session = self._setup.session
        needs = package_needs(
            (code, *self._setup.request.helpers.modules().values()),
            declared=(),
            always=self._setup.config.base_packages,
            extra=(*self._setup.request.helpers.packages, *self._of_data, *self._of_figures((code,))),
            approved=self._approved,
        )
        if self._are_there(needs):
            return None
        if needs.unknown:
            raise PackageRefused(f"It needs {needs.unknown[0]}, which is not a well-known package.")
        self._require_none_refused(needs)
        return await session.beside(needs.distributions)

    def has_all_for(self, plan: CodePlan, code: str) -> bool:
        """Whether the current environment has all packages that this code may need."""
        return not plan.system_packages and self._are_there(self._needs((code,), plan))

    def _are_there(self, needs: PackageNeeds) -> bool:
        environment = self._setup.session.environment
        there = {requirement_name(pin_of(line)) for line in (environment.lock if environment else ())}
        return {requirement_name(need) for need in needs.distributions} <= there

    def of_the_base(self) -> tuple[str, ...]:
        """The packages of the base environment."""
        return self._needs((), None).distributions

    def of_the_code(self, plan: CodePlan, code: str) -> tuple[str, ...]:
        """The packages that the solution needs besides the base; () while there is no code."""
        return self._needs((code,), plan).distributions if code else ()

    def learn(self, plan: CodePlan, code: str, verdict: Verdict) -> bool:
        """Note the packages that failed imports ask for."""
        environment = self._setup.session.environment
        installed = {requirement_name(pin_of(line)) for line in (environment.lock if environment else ())}
        declared = plan.packages
        missing = missing_packages(verdict.complaints, declared)
        # A value of the data may stand where a module's name is expected. It must not reach an index or the model.
        missing |= missing_packages([verdict.complaint_on_sample], declared) & _plausible(declared, code)
        new = missing - installed - self._extra - set(self._refused)
        self._extra |= new
        return bool(new)

    def add(self, diagnosis: ErrorDiagnosis) -> None:
        """Note the packages that a diagnosis asks for."""
        self._extra |= {requirement_name(name) for name in diagnosis.needs_language_packages} - {""}
        self._extra_system |= set(diagnosis.needs_system_packages)

    @property
    def advice(self) -> str:
        """How the user can allow packages that were declined or could not be installed; "" if there are none."""
        lines = list(dict.fromkeys(self._refused_system.values()))
        if names := sorted(self._declined):
            flags = " ".join(f"-p {name}" for name in names)
            lines.append(f"If you trust it, allow it beforehand: {flags}, or approved_packages={names}.")
        return "\n".join(lines)

    @property
    def snapshot(self) -> tuple[frozenset[str], ...]:
        """Everything learned so far. Equal snapshots mean that nothing has changed."""
        return frozenset(self._extra), frozenset(self._extra_system), frozenset(self._refused)

    def _unknown_of_own_lock(self) -> tuple[str, ...]:
        """The packages of the user's lock that are neither well known nor approved. The lock is untrusted."""
        agreed = {requirement_name(name) for name in (*self._approved, *self._setup.config.base_packages)}
        names = {canonicalize_name(name_of(line)) for line in self._setup.session.pinned}
        return tuple(sorted(names - KNOWN_DISTRIBUTIONS - agreed))

    def _needs(self, sources: tuple[str, ...], plan: CodePlan | None) -> PackageNeeds:
        self._draws = plan is not None and _has_figure(plan.outputs)
        helpers = self._setup.request.helpers if sources else Helpers()
        return package_needs(
            (*sources, *helpers.modules().values()),
            declared=() if plan is None else plan.packages,
            always=self._setup.config.base_packages,
            extra=(
                *(*self._declared, *helpers.packages),
                *(*self._of_data, *self._of_figures(sources), *sorted(self._extra)),
            ),
            approved=self._approved,
        )

    def _of_figures(self, sources: tuple[str, ...]) -> tuple[str, ...]:
        return implied_by_figures(sources) if self._draws else ()

    def _require_none_refused(self, needs: PackageNeeds) -> None:
        for name in map(requirement_name, needs.distributions):
            if name in self._refused:
                raise PackageRefused(self._refused[name], package=name)

    def _require_no_lookalike(self, needs: PackageNeeds) -> None:
        """Refuse a name that is one typing error away from a well-known one. The user could approve it by mistake."""
        for name in needs.unknown:
            if meant := likely_meant(name):
                raise PackageRefused(
                    f"{name!r} is not a well-known package, and nearly the name of one. Did you mean {meant!r}?",
                    hint=f"Write {meant} where it says {name}, if that is what is meant.",
                    package=name,
                )

    async def _build(self, packages: tuple[str, ...], system_packages: tuple[str, ...]) -> None:
        """Build the environment; from the recorded lock if it installs only packages that are allowed."""
        session = self._setup.session
        lock = session.recorded_lock(packages, system_packages)
        if lock and not await self._may_install(lock, packages):
            lock = ()
        await session.provide(packages, system_packages, lock)

    async def _may_install(self, lock: tuple[str, ...], packages: tuple[str, ...]) -> bool:
        """Whether each package of a recorded lock is well known, approved, or a dependency of such a package.

        Else the user is asked. If the user declines, the versions are resolved again.
        """
        strange = await self._strange(lock, packages)
        if strange.isdisjoint(self._unwanted) and await self._agrees(tuple(sorted(strange))):
            return True
        self._unwanted |= strange
        return False

    async def _strange(self, lock: tuple[str, ...], packages: tuple[str, ...]) -> Set[str]:
        """The packages of a recorded lock that need the user's consent."""
        agreed = {requirement_name(requirement) for requirement in (*packages, *self._approved)}
        strange = {canonicalize_name(name_of(line)) for line in lock} - KNOWN_DISTRIBUTIONS - agreed
        if strange:
            self._unwanted |= {name for name in strange if likely_meant(name)}
            strange -= await self._setup.session.resolved_names(packages)
        return strange

    async def _ask_consent(self, unknown: tuple[str, ...]) -> None:
        if not await self._agrees(unknown):
            refusal = f"The package {', '.join(unknown)} may not be installed here."
            self._refused |= dict.fromkeys(unknown, refusal)  # so that the user is not asked again
            self._declined.update(unknown)
            raise PackageRefused(refusal, package=unknown[0])

    async def _agrees(self, unknown: tuple[str, ...]) -> bool:
        """Whether the user approves these packages; True without a question if there are none."""
        if not unknown:
            return True
        self._setup.emit(ApprovalNeeded(unknown))
        approved = await self._setup.services.approve(unknown)
        self._setup.emit(ApprovalGiven(unknown, approved))
        if approved:
            self._approved.update(unknown)
        return approved

    async def _system_packages(self, plan: CodePlan) -> tuple[str, ...]:
        """The Debian packages that the plan and failures ask for. Those not well known need the user's approval.

        Their scripts run as root while an image is built, and the plan may be untrusted. The local sandbox has none.
        """
        wanted = {*plan.system_packages, *self._extra_system} - self._refused_system.keys()
        if SANDBOXES[self._setup.services.sandbox.name].has_images:
            strange = {name for name in wanted if name.partition("=")[0] not in KNOWN_SYSTEM_PACKAGES}
            asked = {f"{SYSTEM}{name}": name for name in sorted(strange)}
            asked = {label: name for label, name in asked.items() if label not in self._approved}
            if not await self._agrees(tuple(asked)):
                self._refused_system |= {
                    name: f"The system package {name} was declined. If you trust it, allow it beforehand: -p {label}."
                    for label, name in asked.items()
                }
                wanted -= set(asked.values())
        return tuple(sorted(wanted))

    def _can_go_without(self, system_packages: tuple[str, ...], error: PackageError | SandboxUnavailable) -> bool:
        """Leave out system packages that cannot be installed. Models name too many; a run shows what is needed."""
        at_fault = system_packages
        if isinstance(error, PackageError):
            at_fault = tuple(name for name in system_packages if name.partition("=")[0] == error.package)
        self._refused_system |= dict.fromkeys(at_fault, str(error))
        return bool(at_fault)

    def _refuse(self, error: PackageError) -> TestFailure:
        """Note that a package cannot be installed, so that it is not tried again."""
        name = requirement_name(error.package or "")
        if not name:
            raise error
        self._extra.discard(name)
        self._refused[name] = error.what
        return TestFailure(
            test_name=f"package {name}",
            error_message=error.what,
            expected_behavior="The module uses packages that can be installed.",
            root_cause=error.why,
            suggested_fix=error.hint
            or f"Do without {name}: take a well-known package, or pandas, numpy and the standard library.",
            error_type="logic",
        )


def _plausible(declared: tuple[str, ...], code: str) -> set[str]:
    """Packages that may be missing in a run: well-known ones, declared ones, and those that the code imports."""
    imported = (distribution_of(module, declared) for module in imported_modules(code))
    return {*KNOWN_DISTRIBUTIONS, *(requirement_name(name) for name in (*declared, *imported))}


def _has_figure(outputs: Iterable[OutputSpec]) -> bool:
    return any("Figure" in (spec.type, *re.findall(r"\w+", spec.elements)) for spec in outputs)
