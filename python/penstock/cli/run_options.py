"""What `penstock run` takes.

Made by `tools/commands.py` from the command line itself; `make generate` writes it again.
"""

#: Option → parameter, kind, least and most of an integer, whether it may be repeated.
OPTIONS: dict[str, tuple[str, str, int, int, bool]] = {
    "--seeds": ("seeds", "int", 1, 1000000, False),
    "--set": ("changes", "text", 0, 0, True),
    "--json": ("as_json", "flag", 0, 0, False),
    "--out": ("out", "path", 0, 0, False),
    "--series": ("series", "text", 0, 0, False),
    "--jobs": ("jobs", "int", 1, 999999999, False),
    "--timing": ("timing", "path", 0, 0, False),
    "--pcap": ("pcap", "path", 0, 0, False),
    "--pcap-link": ("pcap_link", "text", 0, 0, False),
    "--warm-up-check": ("warm_up_check", "flag", 0, 0, False),
}
#: What each is without its option.
DEFAULTS: dict[str, object] = {
    "seeds": 1,
    "changes": (),
    "as_json": False,
    "out": None,
    "series": None,
    "jobs": None,
    "timing": None,
    "pcap": None,
    "pcap_link": "bottleneck",
    "warm_up_check": False,
}
#: The one argument.
ARGUMENT = "file"
