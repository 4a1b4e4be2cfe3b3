"""Use more processes and memory than a control group allows. It is a test whether the kernel enforces the limits."""

import os
import time

PROCESSES = 20
MEMORY = 200 << 20
"""Bytes."""

SECONDS = 600.0
"""How long a process waits to be killed."""

REFUSED = "refused"
"""Printed when a fork fails because of the limit on processes."""


def main() -> None:
    """Fork, allocate the memory, and wait to be killed."""
    try:
        for _ in range(PROCESSES):
            if not os.fork():
                time.sleep(SECONDS)
    except BlockingIOError:
        print(REFUSED, flush=True)
    held = b"x" * MEMORY
    time.sleep(SECONDS)
    del held


if __name__ == "__main__":
    main()
