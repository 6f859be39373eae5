"""A scenario's discipline at a device's egress, in the kernel: a tcx program that decides on a virtual queue.

`words` computes the fixed-point numbers that the program is told, `state` reads what it counts, and `device` loads,
shows, changes and removes it by the program `penstock-kernel`. docs/kernel.md says what it does and what it does not.
"""
