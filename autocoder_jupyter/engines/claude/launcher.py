"""Replaces itself by another program that gets only some of the environment variables.

Arguments: the path of the program, the names of the variables separated by commas, and the program's arguments.
`program` reads this file as text, and a bare interpreter runs it.
"""

import os
import sys


def main(program: str, kept: str, *arguments: str) -> None:
    """Replace this process. Never returns."""
    variables = {name: os.environ[name] for name in kept.split(",") if name in os.environ}
    os.execve(program, [program, *arguments], variables)


if __name__ == "__main__":
    main(*sys.argv[1:])
