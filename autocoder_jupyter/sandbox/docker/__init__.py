"""The Docker sandbox. It works with every engine that has Docker's API, also with the service of Podman."""

from autocoder_jupyter.sandbox.docker.sandbox import DockerSandbox

__all__ = ["DockerSandbox"]
