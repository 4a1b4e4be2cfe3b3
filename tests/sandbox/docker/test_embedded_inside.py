"""The embedded sandbox in a container, where a seccomp profile forbids namespaces: the notebook of a JupyterHub."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from tests.sandbox.local.test_confinement import ALLOWED, ATTACKS

pytestmark = [
    pytest.mark.docker,
    pytest.mark.local_sandbox,
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11), reason="the base image has Python 3.11, for which pydantic must be built"
    ),
]

TREE = Path(__file__).resolve().parents[3]
LIBRARIES = Path(pytest.__file__).resolve().parent.parent

PROGRAM = """
import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from autocoder_jupyter.sandbox.local.confinement.process import tier_named
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from tests.sandbox.local.test_confinement import _tried

probe = LocalSandbox().probe()
with ExitStack() as stack, TemporaryDirectory() as outside:
    said = _tried(stack, tier_named(probe.tier), Path(outside)) if probe.available else {}
print(json.dumps({"tier": probe.tier, "reason": probe.reason, "advice": probe.details.get("for more"), "said": said}))
"""

AS_IN_A_POD: dict[str, Any] = {
    "network_mode": "none",
    "security_opt": ["no-new-privileges"],
    "cap_drop": ["ALL"],
    "read_only": True,
    "tmpfs": {"/tmp": "mode=1777"},
}


def test_it_confines_a_program_with_the_profile_of_the_engine(engine: DockerEngine, image: str) -> None:
    if not engine.same_host:
        pytest.skip("the engine is on another machine, which does not have these files")
    found = _inside(engine, image)
    assert found["tier"] == "landlock", found["reason"]
    assert "seccomp" in found["advice"]
    said = found["said"]
    assert not [name for name in ATTACKS if said[name] == "done"]
    assert not {name: said[name] for name in ALLOWED if said[name] != "done"}


def _inside(engine: DockerEngine, image: str) -> dict[str, Any]:
    """The result of the program in a container with the settings of a strict pod."""
    binds = [f"{TREE}:/srv/tree:ro", f"{LIBRARIES}:/srv/libraries:ro"]
    client = engine.client(60)
    made = client.create_container(
        image,
        ["python3", "-c", PROGRAM],
        user="1000:100",
        environment={"PYTHONPATH": "/srv/tree:/srv/libraries", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"},
        host_config=client.create_host_config(binds=binds, **AS_IN_A_POD),
    )["Id"]
    try:
        client.start(made)
        code = client.wait(made)["StatusCode"]
        printed = client.logs(made, stdout=True, stderr=False)
        assert code == 0, client.logs(made).decode("utf-8", "replace")
        result: dict[str, Any] = json.loads(printed)
        return result
    finally:
        client.remove_container(made, force=True, v=True)
        client.close()
