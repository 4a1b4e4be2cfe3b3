"""Run the command in the arguments, and succeed whatever it returns."""

import subprocess
import sys


def main(command: list[str]) -> None:
    """Run it and wait for its end."""
    subprocess.run(command)


if __name__ == "__main__":
    main(sys.argv[1:])
