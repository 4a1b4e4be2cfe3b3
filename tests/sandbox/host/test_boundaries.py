from __future__ import annotations

import pytest

from autocoder_jupyter.sandbox.host.messages import NO_NETWORK, NO_PROCESSES, NO_SHARING, boundary_hint
from autocoder_jupyter.sandbox.host.replies import program_error


@pytest.mark.parametrize(
    ("exception", "message", "traceback", "hint"),
    [
        ("urllib.error.URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>", "", NO_NETWORK),
        (
            "requests.exceptions.ConnectionError",
            "… (Caused by NameResolutionError('Failed to resolve'))",
            "",
            NO_NETWORK,
        ),
        ("socket.gaierror", "[Errno -2] Name or service not known", "", NO_NETWORK),
        (
            "PermissionError",
            "[Errno 1] Operation not permitted",
            "socket.create_connection(('1.2.3.4', 80))",
            NO_NETWORK,
        ),
        ("PermissionError", "[Errno 13] Permission denied", "    with mp.Pool(2) as p:", NO_PROCESSES),
        ("EOFError", "", "    with multiprocessing.Manager() as manager:", NO_SHARING),
        ("PermissionError", "[Errno 13] Permission denied: '/psm_1'", "    s = SharedMemory(create=True)", NO_SHARING),
        ("EOFError", "Ran out of input", "pickle.load(file)", ""),
        ("BlockingIOError", "[Errno 11] Resource temporarily unavailable", "    os.fork()", NO_PROCESSES),
        ("PermissionError", "[Errno 13] Permission denied: '/etc/shadow'", "open('/etc/shadow')", ""),
        ("ValueError", "no socket in the table", "raise ValueError", ""),
    ],
)
def test_a_person_hears_which_edge_of_the_sandbox_was_met(
    exception: str, message: str, traceback: str, hint: str
) -> None:
    assert boundary_hint(exception, message, traceback) == hint


def test_the_error_of_a_program_carries_it() -> None:
    header = {"error": "SolutionError", "exception_type": "socket.gaierror", "message": "[Errno -3] Temporary failure"}
    assert program_error(header, stderr="", folder="").hint == NO_NETWORK
