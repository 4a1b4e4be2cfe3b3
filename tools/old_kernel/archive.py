"""Kernels from the archives of Debian and Ubuntu. apt verifies them with the keys of these archives."""

from __future__ import annotations

import lzma
import os
import re
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

UBUNTU_ARCHIVE = "AUTOCODE_UBUNTU_ARCHIVE"
"""The environment variable with the address of an Ubuntu archive. For Debian, the archive of apt is used."""

Origin = Literal["Debian", "Ubuntu"]
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU_KEYS = ("trixie", "ubuntu-keyring", "usr/share/keyrings/ubuntu-archive-keyring.gpg")
"""Ubuntu's keys: suite and name of the Debian package, and the file in it."""

SUITES: dict[str, tuple[Origin, str]] = {
    "5.10": ("Debian", "bullseye"),
    "5.15": ("Ubuntu", "jammy-updates"),
    "6.1": ("Debian", "bookworm"),
    "6.8": ("Ubuntu", "noble-updates"),
    "6.12": ("Debian", "trixie"),
}
"""Archive and suite that have this version as the standard kernel."""

VARIANTS = re.compile("-(cloud|rt|lowlatency|unsigned)-")


class Unavailable(Exception):
    """An archive or a program is not available on this machine. The message says which."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel.

    Args:
        folder: contains `boot` and the modules.
    """

    folder: Path

    def image(self, folder: Path) -> Path:
        """The file to boot. If possible it is decompressed into `folder`; an emulated kernel needs seconds for that."""
        (image,) = self.folder.glob("boot/vmlinuz-*")
        content = _payload(image.read_bytes())
        if not content.startswith(b"\x7fELF"):
            return image
        decompressed = folder / "vmlinux"
        decompressed.write_bytes(content)
        return decompressed

    def write_modules(self, names: tuple[str, ...], target: Path) -> list[str]:
        """Write modules and their dependencies, decompressed. Returns the names of the files in the order of loading.

        Modules that are built into the kernel are left out.
        """
        files = {path.name.split(".")[0].replace("-", "_"): path for path in self.folder.rglob("*.ko*")}
        written: dict[str, None] = {}
        for name in names:
            for module in _with_dependencies(name, files):
                (target / f"{module}.ko").write_bytes(_content(files[module]))
                written[f"{module}.ko"] = None
        return list(written)


def fetch(version: str, folder: Path) -> Kernel:
    """The newest kernel of this version. It is downloaded into `folder` if it is not there.

    Raises:
        Unavailable: the version is not in `SUITES`, or its archive cannot be reached.
    """
    if version not in SUITES:
        raise Unavailable(f"kernel {version} is not supported; supported are {', '.join(SUITES)}")
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
            raise Unavailable(f"{UBUNTU_ARCHIVE} is not set to the address of an Ubuntu archive")
        return os.environ[UBUNTU_ARCHIVE]
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    addresses = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    found = [address for address in addresses if urlsplit(address).path.rstrip("/").endswith("/debian")]
    if not found:
        raise Unavailable("apt has no Debian archive on this machine")
    return found[0]


def _keys(origin: Origin, folder: Path) -> str:
    if origin == "Debian":
        return DEBIAN_KEYS
    suite, package, file = UBUNTU_KEYS
    if not (folder / "keys" / file).exists():
        Apt(folder / f"apt-{suite}", _archive("Debian"), suite, DEBIAN_KEYS).unpack([package], folder / "keys")
    return str(folder / "keys" / file)


class Apt:
    """apt with a single source and its own state, so that the machine's configuration is not changed."""

    def __init__(self, folder: Path, archive: str, suite: str, keys: str) -> None:
        self._folder = folder
        if not Path(keys).exists():
            raise Unavailable(f"the file {keys} does not exist")
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
        """The package with the highest version whose name matches `name`, a regular expression."""
        listed = self._run("apt-cache", "pkgnames", "linux-image-").split()
        found = [package for package in listed if re.fullmatch(name, package) and not VARIANTS.search(package)]
        if not found:
            raise Unavailable(f"the archive has no package {name}")
        return max(found, key=lambda package: [int(number) for number in re.findall(r"\d+", package)])

    def unpack(self, packages: list[str], target: Path) -> None:
        """Download packages and unpack them into a folder, which is created only when all of them are unpacked."""
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
            raise Unavailable(f"{' '.join(command)} fails: {done.stderr.strip()[-300:]}")
        return done.stdout


def _with_dependencies(name: str, files: dict[str, Path]) -> Iterator[str]:
    """The dependencies of a module, which its own data lists, and then the module."""
    name = name.replace("-", "_")
    if name not in files:
        return
    said = re.search(rb"\0depends=([^\0]*)\0", _content(files[name]))
    for needed in said.group(1).decode().split(",") if said else ():
        yield from _with_dependencies(needed, files)
    yield name


def _payload(image: bytes) -> bytes:
    """The kernel in a bootable image; b"" if it is not compressed with xz. The boot protocol defines the fields."""
    setup_sectors, (offset, size) = image[0x1F1], struct.unpack_from("<II", image, 0x248)
    begin = (setup_sectors + 1) * 512 + offset
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(image[begin : begin + size])
    except lzma.LZMAError:
        return b""


def _content(module: Path) -> bytes:
    packed = module.read_bytes()
    if module.suffix == ".xz":
        return lzma.decompress(packed)
    if module.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", module], capture_output=True, check=True).stdout
    return packed
