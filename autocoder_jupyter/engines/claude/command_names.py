"""Shell commands by name: which are safe, which run tests, which are denied."""

from __future__ import annotations

import re

from autocoder_jupyter.engines.claude.judgement import (
    NETWORK,
    PACKAGES,
    RIGHTS,
    TESTS,
    UNREAD,
    VARIABLES,
    Judgement,
)

KEYWORDS = frozenset(
    ("if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc", "esac")
)
NAMES_WORDS = frozenset(("for", "select", "case", "[", "[[", "test"))
"""Shell keywords that are followed only by words, not by a command."""

WRAPPERS: dict[str, tuple[str, ...]] = {
    "env": ("-u", "--unset", "-C", "--chdir"),
    "timeout": ("-k", "--kill-after", "-s", "--signal"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e"),
    "exec": ("-a",),
    "watch": ("-n",),
    "xargs": ("-n", "-I", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter"),
    "parallel": ("-j", "--jobs"),
    **dict.fromkeys(("nohup", "setsid", "command", "builtin", "busybox", "unbuffer", "strace", "ltrace"), ()),
}
"""Commands that run the command in their arguments, with their options that take a value."""

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash"))
PYTHON = re.compile(r"(?:python|pypy|ipython)[\d.]*")
RUN_MODULES = frozenset(("cProfile", "profile", "pdb", "trace", "coverage", "runpy", "bdb"))
"""Modules that run the module or script in their arguments."""

_REACH_OUT = (
    *("curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "rsync", "ftp", "tftp"),
    *("ping", "ping6", "dig", "nslookup", "host", "traceroute", "nmap", "aria2c", "lynx", "w3m", "http", "https"),
    *("gh", "aws", "gcloud", "gsutil", "az", "docker", "podman", "kubectl"),
)
_INSTALL = (
    *("pip", "pip2", "pip3", "pipx", "uv", "uvx", "poetry", "pdm", "hatch", "rye", "easy_install"),
    *("conda", "mamba", "micromamba", "apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "apk", "pacman"),
    *("zypper", "brew", "snap", "npm", "npx", "yarn", "pnpm", "cargo", "gem", "go"),
)
_NEED_RIGHTS = (
    *("sudo", "su", "doas", "pkexec", "runuser", "chroot", "unshare", "nsenter", "mount", "umount", "setcap"),
    *("insmod", "modprobe", "systemctl", "service", "crontab", "at", "reboot", "shutdown", "passwd", "useradd"),
    *("usermod", "gdb"),
)

KNOWN: dict[str, Judgement] = {
    **dict.fromkeys(_REACH_OUT, NETWORK),
    **dict.fromkeys(_INSTALL, PACKAGES),
    **dict.fromkeys(_NEED_RIGHTS, RIGHTS),
    **dict.fromkeys(("pytest", "py.test", "pytest-3", "tox", "nox"), TESTS),
    **dict.fromkeys(("vi", "vim", "nano", "ex", "ed", "emacs"), UNREAD),
    "printenv": VARIABLES,
}
"""The class of a command by its name."""

LOOKS_AT_PACKAGES = frozenset(("list", "show", "freeze", "check", "help", "--version", "-V", "--help", "-h"))
GIT_REACHES_OUT = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule"))
SAYS_WORDS = frozenset(("echo", "printf", "tr", "expr", "true", "false", ":", "which", "type", "seq", "basename"))
"""Commands whose arguments are not files."""

HAS_A_PATTERN = frozenset(("grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "mawk", "perl", "ruby", "node"))
"""Commands with a pattern or a program as an argument, which may begin with a slash."""

LISTS_VARIABLES = frozenset(("set", "export", "declare", "typeset", "readonly"))
"""Commands that show variables if they have no arguments."""

FILTERS = frozenset(("cd", "echo", "tail", "head", "grep", "cat", "tee", "true", ":", "set"))
"""Shell keywords around other commands."""

STARTS_COMMANDS = {
    **dict.fromkeys(
        ("awk", "gawk", "mawk"), re.compile(r"\bsystem\s*\(|\|&?\s*getline|(?<!\|)\|&?\s*[\"a-z]|ENVIRON\b")
    ),
    "sed": re.compile(r"(?:^|[;{\n])\s*[\d$,]*\s*e\b|^s(\W).*\1.*\1[gpiImM\d]*e"),
    **dict.fromkeys(
        ("perl", "ruby", "node", "php", "lua"),
        re.compile(r"system|exec|spawn|popen|`|\bqx\b|socket|child_process|ENV\b|process\.env", re.IGNORECASE),
    ),
    "tar": re.compile(r"--to-command|--checkpoint-action|--use-compress-program|--rsh-command"),
}
"""Tools with their own language, and the pattern of code that starts another program or shows variables."""
