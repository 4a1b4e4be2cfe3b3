"""The sandbox without a container engine: Landlock, seccomp and namespaces confine a process on this machine.

The sandbox without a container engine: `sandbox`, its `probe`, `policy` and `environments`; `confinement/` (Landlock,
seccomp, namespaces). In the notebook: `process` (a worker and its supervisor), `forks` and `loading` (workers that are
forked from a process that has imported the libraries). In the supervisor: `supervisor` (its start), `supervision` (its
loop), `forking` with `loaded` (for such a process), `watched_worker`; `limits` with `process_tree`, `usage`,
`container_memory` and `control_group`. `messages` is what both sides tell each other.
"""
