"""Which distributions a solution needs: from its imports, never only from a model's list."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from autocoder_jupyter.engine.known_packages import DISTRIBUTION_OF, KNOWN_DISTRIBUTIONS
from autocoder_jupyter.sandbox.environments.locking import BASE_PACKAGES
from autocoder_jupyter.untrusted.parsing import parse

_OWN_MODULES = frozenset({"solution", "test_solution", "conftest", "__future__", "_pytest"})
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_OPTIONAL_DEPENDENCY = re.compile(r"[Mm]issing optional dependency '([\w.\-]+)'")


@dataclass(frozen=True)
class PackageNeeds:
    """The packages to install.

    Args:
        distributions: normalised names or requirements, sorted.
        unknown: those that need the user's consent.
    """

    distributions: tuple[str, ...]
    unknown: tuple[str, ...]


def imported_modules(*sources: str) -> tuple[str, ...]:
    """Top-level names of all imported modules, without the standard library; sorted."""
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(parse(source)):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    return tuple(sorted(found - sys.stdlib_module_names - _OWN_MODULES))


def distribution_of(module: str, declared: Iterable[str]) -> str:
    """The distribution that provides a module; the module's own name if nothing better is known.

    Args:
        module: top-level import name.
        declared: requirements from the plan or the user; one with a matching name is preferred.
    """
    if module in DISTRIBUTION_OF:
        return DISTRIBUTION_OF[module]
    wanted = canonicalize_name(module)
    for requirement in declared:
        name = requirement_name(requirement)
        if name and (
            name == wanted or name.removeprefix("python-") == wanted or name.removesuffix("-python") == wanted
        ):
            return requirement
    return wanted


def requirement_name(requirement: str) -> str:
    """The normalised name of a requirement; "" if the text is not a requirement."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return ""


def package_needs(
    sources: Iterable[str],
    *,
    declared: Iterable[str],
    always: Iterable[str],
    extra: Iterable[str],
    approved: Iterable[str],
) -> PackageNeeds:
    """The packages that the environment of these sources needs.

    Args:
        sources: the solution and its tests.
        declared: requirements of the plan. They help to name an import, and are installed only if imported.
        always: requirements of the user (`base_packages`, `-p`). They are always installed and need no consent.
        extra: distributions that a failure asked for, such as a missing optional dependency.
        approved: names that the user approved.
    """
    named = tuple(declared)
    wanted = {requirement_name(requirement): requirement for requirement in always if requirement_name(requirement)}
    for module in imported_modules(*sources):
        distribution = distribution_of(module, (*wanted.values(), *named))
        wanted.setdefault(requirement_name(distribution), distribution)
    for distribution in extra:
        wanted.setdefault(requirement_name(distribution), distribution)
    wanted = {name: requirement for name, requirement in wanted.items() if name and name not in BASE_PACKAGES}
    consented = {requirement_name(requirement) for requirement in (*always, *approved)}
    unknown = tuple(sorted(set(wanted) - KNOWN_DISTRIBUTIONS - consented))
    return PackageNeeds(tuple(sorted(wanted.values())), unknown)


def missing_packages(messages: Iterable[str], declared: Iterable[str]) -> set[str]:
    """The distributions that error messages name: failed imports, and pandas' missing optional dependencies."""
    wanted = set()
    named = tuple(declared)
    for message in messages:
        modules = {module.partition(".")[0] for module in _NO_MODULE.findall(message)}
        modules |= set(_OPTIONAL_DEPENDENCY.findall(message))
        for module in modules - _OWN_MODULES - sys.stdlib_module_names:
            wanted.add(requirement_name(distribution_of(module, named)))
    return wanted - {""}
