"""The Docker sandbox. Works with any engine that speaks Docker's API, Podman's service among them."""

from autocoder_jupyter.sandbox.docker.sandbox import DockerSandbox

__all__ = ["DockerSandbox"]
