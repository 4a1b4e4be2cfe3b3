"""Print where an interpreter has its files and which version it is: a JSON list of three strings."""

import json
import sys


def main() -> None:
    """Print prefix, prefix of what is compiled, and version."""
    print(json.dumps([sys.base_prefix, sys.base_exec_prefix, sys.version]))


if __name__ == "__main__":
    main()
