"""The sandbox without an engine: Landlock, seccomp and namespaces hold a process on this machine."""
