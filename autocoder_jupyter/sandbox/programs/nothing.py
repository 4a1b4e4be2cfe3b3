"""A function without inputs. It is run to see whether a worker works."""


def run() -> int:
    """Always 0."""
    return 0
