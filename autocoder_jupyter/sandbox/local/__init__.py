"""The sandbox without a container engine: Landlock, seccomp and namespaces confine a process on this machine.

In the notebook:

- `sandbox`: the sandbox; `trial`: whether it works here; `environments`: its virtual environments
- `process`: a worker and its supervisor; `forks`: workers forked from a process that has imported the libraries

In the supervisor, a small process between the notebook and the worker:

- `supervisor`: its start; `supervision`: its loop; `forking`: the same with forked workers
- `limits`: the limits of a worker; `process_tree`: its processes and what they use; `control_groups`
- `confinement/`: Landlock, seccomp, namespaces

`messages`: what both sides send each other.
"""
