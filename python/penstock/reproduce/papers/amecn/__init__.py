"""Adaptive multi-level ECN: figures 5 to 12.

A. Durresi, M. Sridharan, R. Jain, "Adaptive multi-level explicit congestion notification", Int. J.
High Performance Computing and Networking 5(1/2), 2007, section 4. AMECN keeps its average queue in a
target range when the load changes, has more throughput than MECN then, and more than ARED at the
same delay.
"""
