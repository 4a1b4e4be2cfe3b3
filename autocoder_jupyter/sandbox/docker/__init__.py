"""The Docker sandbox. It works with every engine that has Docker's API, also with the service of Podman.

- `sandbox`: the sandbox
- `engine`: find an engine; `products`: the programs that provide one
- `environments`: environments as images; `images`: base images and the engine's progress
- `container`: a hardened container and its streams; `trial`: what a container of an image can do
"""

from autocoder_jupyter.sandbox.docker.sandbox import DockerSandbox

__all__ = ["DockerSandbox"]
