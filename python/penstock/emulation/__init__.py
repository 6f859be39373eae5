"""Real packets: a scenario's bottleneck between two network namespaces of this machine, with the kernel's own TCP.

The queue is the simulator's own, discipline included; `penstock_emulate` (Rust) holds the packets. Everything happens
in processes of its own, which die together: the caller's network is never touched.
"""

from penstock.emulation.bridge import bridge as bridge
from penstock.emulation.emulated import Emulated as Emulated
from penstock.emulation.network import Network as Network
from penstock.emulation.network import mecn_program as mecn_program
from penstock.emulation.network import network as network
from penstock.emulation.processes import EmulationError as EmulationError
from penstock.emulation.processes import Status as Status
from penstock.emulation.run import Progress as Progress
from penstock.emulation.run import emulate as emulate
