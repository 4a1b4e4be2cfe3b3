"""Kernels from the archives of Debian and Ubuntu, checked by apt against these archives' keys."""

from __future__ import annotations

import lzma
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

UBUNTU_ARCHIVE = "AUTOCODE_UBUNTU_ARCHIVE"
"""The environment variable with the address of an archive of Ubuntu. That of Debian is the one that apt has here."""

Origin = Literal["Debian", "Ubuntu"]
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU_KEYS = ("trixie", "ubuntu-keyring", "usr/share/keyrings/ubuntu-archive-keyring.gpg")
"""Suite and package of Debian that has Ubuntu's keys, and the file in it."""

SUITES: dict[str, tuple[Origin, str]] = {
    "5.10": ("Debian", "bullseye"),
    "5.15": ("Ubuntu", "jammy-updates"),
    "6.1": ("Debian", "bookworm"),
    "6.8": ("Ubuntu", "noble-updates"),
    "6.12": ("Debian", "trixie"),
}
"""Where the kernel of a version is an ordinary one: archive and suite."""

VARIANTS = re.compile("-(cloud|rt|lowlatency|unsigned)-")


class NotToBeHad(Exception):
    """The archive, or a program that is needed for it, is not here; the text says which."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel.

    Args:
        folder: with `boot` and the modules.
    """

    folder: Path

    @property
    def image(self) -> Path:
        """What is booted."""
        (image,) = self.folder.glob("boot/vmlinuz-*")
        return image

    def write_modules(self, names: tuple[str, ...], target: Path) -> list[str]:
        """Write modules, after those that they depend on, as plain files; the files' names, in the order of loading.

        What the kernel has built in is left out.
        """
        files = {path.name.split(".")[0].replace("-", "_"): path for path in self.folder.rglob("*.ko*")}
        written: dict[str, None] = {}
        for name in names:
            for module in _with_needed(name, files):
                (target / f"{module}.ko").write_bytes(_content(files[module]))
                written[f"{module}.ko"] = None
        return list(written)


def fetch(version: str, folder: Path) -> Kernel:
    """The newest kernel of this version, from `folder` where it is there already.

    Raises:
        NotToBeHad: no such kernel is known, or its archive is not reached.
    """
    if version not in SUITES:
        raise NotToBeHad(f"no kernel {version} is known here; there are {', '.join(SUITES)}")
    kernel = Kernel(folder / version)
    if not kernel.folder.exists():
        origin, suite = SUITES[version]
        apt = Apt(folder / f"apt-{suite}", _archive(origin), suite, _keys(origin, folder))
        package = apt.newest(rf"linux-image-{re.escape(version)}[.][\w.+-]*-(amd64|generic)")
        modules = [package.replace("-image-", "-modules-")] if origin == "Ubuntu" else []
        apt.unpack([package, *modules], kernel.folder)
    return kernel


def _archive(origin: Origin) -> str:
    """The address of an archive."""
    if origin == "Ubuntu":
        if not os.environ.get(UBUNTU_ARCHIVE):
            raise NotToBeHad(f"{UBUNTU_ARCHIVE} does not say where an archive of Ubuntu is")
        return os.environ[UBUNTU_ARCHIVE]
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    addresses = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    found = [address for address in addresses if urlsplit(address).path.rstrip("/").endswith("/debian")]
    if not found:
        raise NotToBeHad("apt has no archive of Debian here")
    return found[0]


def _keys(origin: Origin, folder: Path) -> str:
    if origin == "Debian":
        return DEBIAN_KEYS
    suite, package, file = UBUNTU_KEYS
    if not (folder / "keys" / file).exists():
        Apt(folder / f"apt-{suite}", _archive("Debian"), suite, DEBIAN_KEYS).unpack([package], folder / "keys")
    return str(folder / "keys" / file)


class Apt:
    """apt with one source and a state of its own, so that the machine's sources stay as they are."""

    def __init__(self, folder: Path, archive: str, suite: str, keys: str) -> None:
        self._folder = folder
        if not Path(keys).exists():
            raise NotToBeHad(f"there is no {keys}")
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "sources.list").write_text(f"deb [arch=amd64 signed-by={keys}] {archive} {suite} main\n", "ascii")
        settings = {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
        }
        (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()), "utf-8")
        self._run("apt-get", "update", "-qq")

    def newest(self, name: str) -> str:
        """The package of the highest version whose name is `name`, a regular expression."""
        listed = self._run("apt-cache", "pkgnames", "linux-image-").split()
        found = [package for package in listed if re.fullmatch(name, package) and not VARIANTS.search(package)]
        if not found:
            raise NotToBeHad(f"the archive has no {name}")
        return max(found, key=lambda package: [int(number) for number in re.findall(r"\d+", package)])

    def unpack(self, packages: list[str], target: Path) -> None:
        """Download packages and unpack them into a folder, which is there when all of them are."""
        place = self._folder / "unpacked"
        subprocess.run(["rm", "-rf", place], check=True)
        place.mkdir()
        for package in packages:
            self._run("apt-get", "download", "-qq", package)
        for file in self._folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", file, place], check=True)
            file.unlink()
        place.rename(target)

    def _run(self, *command: str) -> str:
        environment = {**os.environ, "APT_CONFIG": str(self._folder / "apt.conf")}
        done = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise NotToBeHad(f"{' '.join(command)} fails: {done.stderr.strip()[-300:]}")
        return done.stdout


def _with_needed(name: str, files: dict[str, Path]) -> Iterator[str]:
    """A module after those that it depends on, as it says in its own data."""
    name = name.replace("-", "_")
    if name not in files:
        return
    said = re.search(rb"\0depends=([^\0]*)\0", _content(files[name]))
    for needed in said.group(1).decode().split(",") if said else ():
        yield from _with_needed(needed, files)
    yield name


def _content(module: Path) -> bytes:
    packed = module.read_bytes()
    if module.suffix == ".xz":
        return lzma.decompress(packed)
    if module.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", module], capture_output=True, check=True).stdout
    return packed
