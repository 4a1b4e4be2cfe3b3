"""The sandbox in which generated code runs: one protocol with two implementations, environments, limits.

`protocol` (sandbox, environment, worker), the `choice` of one, the administrator's `system_minimum`, `cancellation`
of builds and calls from another thread; `container_marks` (is the notebook in a container), `temporary_folder`
(private folders that are removed also after a crash).
"""
