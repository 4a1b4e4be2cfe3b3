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

EVALUATES_ITS_WORDS = frozenset(
    ("let", "declare", "typeset", "local", "readonly", "export", "test", "[", "[[", "printf", "read", "unset")
)
"""Commands of the shell that may run a substitution although it is quoted, as in `let 'x[$(…)]'`."""

INERT = frozenset(
    (
        *("cd", "pwd", "pushd", "popd", "dirs", "exit", "return", "break", "continue", "shift", "wait", "sleep"),
        *("umask", "ulimit", "shopt", "hash", "times", "getopts", "kill", "pkill", "jobs", "bg", "fg", "clear"),
        *("ls", "dir", "tree", "stat", "file", "du", "df", "wc", "cat", "tac", "nl", "head", "tail", "cut", "paste"),
        *("join", "comm", "sort", "uniq", "tee", "split", "csplit", "fold", "fmt", "column", "expand", "unexpand"),
        *("rev", "shuf", "od", "xxd", "hexdump", "strings", "base64", "base32", "md5sum", "sha1sum", "sha256sum"),
        *("sha512sum", "cksum", "sum", "diff", "cmp", "patch", "mkdir", "rmdir", "rm", "mv", "cp", "ln", "touch"),
        *("chmod", "dd", "install", "truncate", "mktemp", "dirname", "realpath", "readlink", "date", "cal", "bc", "dc"),
        *("nproc", "uname", "arch", "hostname", "whoami", "id", "groups", "uptime", "free", "ps", "top", "lscpu"),
        *("locale", "iconv", "jq", "yes", "factor", "numfmt", "gzip", "gunzip", "zcat", "bzip2", "xz", "zip", "unzip"),
        *("ruff", "mypy", "black", "isort", "flake8", "pylint", "pyflakes", "pycodestyle", "sqlite3", "openssl"),
        *("git", "tar", "find", *SAYS_WORDS, *HAS_A_PATTERN, *LISTS_VARIABLES, *EVALUATES_ITS_WORDS),
    )
)
"""Commands that start no other program, except as `STARTS_COMMANDS` says."""

INERT_MODULES = frozenset(
    (
        *("ast", "base64", "calendar", "compileall", "csv", "dis", "gzip", "json", "platform", "py_compile", "pydoc"),
        *("site", "sysconfig", "tabnanny", "tarfile", "this", "tokenize", "zipfile"),
        *("black", "flake8", "isort", "mypy", "pycodestyle", "pyflakes", "pylint", "ruff"),
    )
)
"""Modules that run no program when they are started with `-m`."""

NAMES_A_PROGRAM = re.compile(
    r"(?:BASH_ENV|ENV|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|PATH|IFS|\w*PAGER|\w*EDITOR|BROWSER|LESS(?:OPEN|CLOSE)|GIT_\w+"
    r"|PERL\w*OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHON(?:STARTUP|INSPECT|HOME|BREAKPOINT)|LD_\w+|MAKEFLAGS|RIPGREP\w+)\+?="
)
"""Variables whose value is a program, or decides which one runs."""

GIT_IS_INERT = re.compile(
    r"--version|version|help|diff|status|log|show|init|add|commit|rev-parse|ls-files|blame|stash|checkout|branch|reset"
    r"|rm|mv|clean|restore|switch|apply|grep|describe|tag|merge|shortlog"
)
"""Subcommands of git that start no program that is named in the command."""

STARTS_COMMANDS = {
    **dict.fromkeys(
        ("awk", "gawk", "mawk"),
        re.compile(r"\bsystem\b|\|&?\s*getline|(?<!\|)\|&?\s*[\"a-z]|ENVIRON\b|@\w+\s*\("),
    ),
    "sed": re.compile(
        r"(?:^|[;{\n]|^-e|=)\s*(?:[\d$,~+!]|/[^/]*/I?M?)*\s*(?:e(?![a-z]*=)|s(\W)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiImM\d]*e)"
    ),
    **dict.fromkeys(
        ("perl", "ruby", "node", "php", "lua"),
        re.compile(
            r"system|exec|spawn|popen|`|\bqx\b|socket|child_process|ENV\b|process\.env|\bopen|\beval\b|\|\s*$",
            re.IGNORECASE,
        ),
    ),
    "tar": re.compile(
        r"--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume)|^-?[a-z]*[IF]"
    ),
    "git": re.compile(r"^-c|^--(?:ext-diff|textconv|exec|upload-pack|receive-pack|open-files|config|edit)|^-O"),
    "sort": re.compile(r"^--compress-"),
    "split": re.compile(r"^--f"),
    "rg": re.compile(r"^--(?:pre|hostname-bin|search-zip)|^-z"),
    "shopt": re.compile(r"expand_aliases"),
    **dict.fromkeys(("hash", "jobs"), re.compile(r"^-")),
    "sqlite3": re.compile(r"\.(?:shell|system|load|once|output|import|read)\b|load_extension"),
    "dc": re.compile(r"!"),
}
"""Tools with their own language, or an option for a program, and the pattern of what starts one or shows variables."""
