"""The fluid model of TCP and AQM: its balance, its small motions, and whether they die out.

Misra, Gong, Towsley 2000; Hollot, Misra, Towsley, Gong 2001 and 2002. `docs/stability.md` derives
what stands here, and holds it against the simulator. `penstock.stability` is the way in.
"""
