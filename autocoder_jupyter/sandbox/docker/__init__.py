"""The Docker sandbox. It works with every engine that has Docker's API, also with the service of Podman.

The sandbox with a container engine: `detection` of an engine (`products`: the programs that provide one), images in
`layers`, containers and their `streams`, the `reaper`.
"""

from autocoder_jupyter.sandbox.docker.sandbox import DockerSandbox

__all__ = ["DockerSandbox"]
