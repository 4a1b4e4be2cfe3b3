"""The sandbox without a container engine: Landlock, seccomp and namespaces confine a process on this machine.

The sandbox without a container engine: `sandbox`, its `probe`, `policy` and `environments`; `confinement/` (Landlock,
seccomp, namespaces); `supervisor` with `process_tree`, `usage`, `container_memory` and `control_group` (limits);
`shared_supervisor` with `loaded`, `forks` and `forked_worker` (a process that has imported the libraries, and the
workers that are forked from it).
"""
