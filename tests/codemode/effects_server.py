"""Runs code mode in processes that are killed, that run at the same time, or whose disk is full.

The processes are forked from this one, which has imported everything and has one thread, so each takes a few
hundredths of a second. It reads a line of JSON for each round (a list of `Spec`), and writes the outcomes as one line.
An effect is a new file in the folder `effects`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from autocoder_jupyter import CodeModeAgent, jobs, tool
from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.jobs.code_job import CodeRequest
from autocoder_jupyter.untrusted.folder import Folder

EFFECTS = ("one", "two")

CODE = f"""```python
done = {{}}
for what in {EFFECTS}:
    try:
        done[what] = send(what)
    except Exception as error:
        done[what] = str(error)
done
```"""


class Spec(TypedDict, total=False):
    """One process: its folder, and what happens to it.

    `kill_at` is the number of the step at which it kills itself; see `killing`. `file_bytes` is the largest file that
    it may write. `delay` passes before it starts, `pause` during each effect. With `differs` its model writes other
    code than that of the others. `mode` is `agent` for `CodeModeAgent`, or `job` for a cell.
    """

    folder: str
    kill_at: int
    file_bytes: int
    delay: float
    pause: float
    differs: bool
    mode: str


def main() -> None:
    for line in sys.stdin:
        children = [start(spec) for spec in json.loads(line)]
        print(json.dumps([outcome_of(*child) for child in children]), flush=True)


def start(spec: Spec) -> tuple[int, int]:
    reading, writing = os.pipe()
    if pid := os.fork():
        os.close(writing)
        return pid, reading
    try:
        os.write(writing, json.dumps(ran(spec)).encode())
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def outcome_of(pid: int, reading: int) -> dict[str, Any] | None:
    """What the process said; None if it was killed."""
    with os.fdopen(reading, "rb") as said:
        text = said.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else None


def ran(spec: Spec) -> dict[str, Any]:
    folder = Path(spec["folder"])
    os.environ["AUTOCODE_CACHE_DIR"] = str(folder / "cache")
    if "file_bytes" in spec:
        resource.setrlimit(resource.RLIMIT_FSIZE, (spec["file_bytes"], resource.RLIM_INFINITY))
    step = killing(spec.get("kill_at"))
    time.sleep(spec.get("delay", 0))

    @tool(effects=True)
    def send(what: str) -> str:
        step(lambda: None)
        (folder / "effects" / f"{what}-{uuid.uuid4().hex}").touch()
        time.sleep(spec.get("pause", 0))
        step(lambda: None)
        return "sent"

    def answer(model: str, system: str, messages: list[dict[str, str]]) -> str:
        mark = f"# {uuid.uuid4().hex}\n" if spec.get("differs") else ""
        return "Done." if len(messages) > 1 else CODE.replace("done = ", f"{mark}done = ", 1)

    root = folder / ".autocode"
    if spec.get("mode") == "job":
        request = CodeRequest("tools", "Send them.", {"send": send}, settings={"call_llm": answer}, attended=False)
        result: Any = jobs.submit_code(request, journal_root=root).result.result
    else:
        agent = CodeModeAgent([send], call_llm=answer, approve=lambda request: "allow")
        result = agent.run("Send them.", journal_root=root)
    return {"value": result.value, "error": result.error, "notes": result.notes}


def killing(kill_at: int | None) -> Callable[[Callable[[], object]], None]:
    """Makes this process kill itself at a step: before and after each effect, and before, within and after each line
    that is written. What is within is called before the kill.
    """
    steps = iter(range(1_000_000))

    def step(first: Callable[[], object]) -> None:
        if next(steps) == kill_at:
            first()
            os.kill(os.getpid(), signal.SIGKILL)

    append = Folder.append

    def killed(self: Folder, path: str, content: bytes) -> None:
        step(lambda: None)
        step(lambda: append(self, path, content[: len(content) // 2]))
        append(self, path, content)
        step(lambda: None)

    if kill_at is not None:
        Folder.append = killed  # type: ignore[method-assign]
    return step


if __name__ == "__main__":
    assert file_locks.SUPPORTED
    main()
