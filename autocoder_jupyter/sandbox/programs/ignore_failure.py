"""Run the command in the arguments, and exit with 0 even if the command fails."""

import subprocess
import sys


def main(command: list[str]) -> None:
    """Run the command and wait for its end."""
    subprocess.run(command)


if __name__ == "__main__":
    main(sys.argv[1:])
