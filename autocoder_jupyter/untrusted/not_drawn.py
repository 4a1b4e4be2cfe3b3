"""Why an untrusted figure is not drawn."""


class NotDrawn(Exception):
    """A figure has a part that is not allowed, or too much of one. Its text is the reason."""
