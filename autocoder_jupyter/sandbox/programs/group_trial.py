"""Take more processes and more memory than a control group allows, to see whether the kernel enforces its limits."""

import os
import time

PROCESSES = 20
MEMORY = 200 << 20
"""Bytes."""

SECONDS = 600.0
"""How long a process stays if nothing ends it."""

REFUSED = "refused"
"""Printed when a fork fails because of the limit on processes."""


def main() -> None:
    """Fork, take the memory, and wait to be killed."""
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
