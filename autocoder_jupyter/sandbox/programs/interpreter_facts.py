"""Print the folders and the version of an interpreter, as a JSON list of three strings."""

import json
import sys


def main() -> None:
    """Print `sys.base_prefix`, `sys.base_exec_prefix` and `sys.version`."""
    print(json.dumps([sys.base_prefix, sys.base_exec_prefix, sys.version]))


if __name__ == "__main__":
    main()
