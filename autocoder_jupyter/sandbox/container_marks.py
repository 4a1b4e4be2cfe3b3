"""Tell whether this notebook runs in a container."""

from __future__ import annotations

from pathlib import Path

# A pod of JupyterHub has no Kubernetes token, but like each pod it has a file for its last message.
_MARKS = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io", "dev/termination-log")


def is_container(root: Path = Path("/")) -> bool:
    """Whether a container of Docker or Podman, or a pod, is around this process.

    Args:
        root: root of the file system.
    """
    return any((root / mark).exists() for mark in _MARKS)
