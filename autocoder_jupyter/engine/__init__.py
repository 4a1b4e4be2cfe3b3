"""The loop: plan, code and tests, packages, run, diagnose, fix, verify; one file a stage."""
