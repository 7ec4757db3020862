"""What limn offers to every xDSL tool: its dialects, passes and targets, found through the entry point `xdsl.universe`.

Each entry is a factory that imports on first use, so a tool that only lists names loads none of limn's code.
"""

from xdsl.universe import Universe

LIMN_UNIVERSE = Universe()
