"""The sandbox without a container engine: Landlock, seccomp and namespaces confine a process on this machine."""
