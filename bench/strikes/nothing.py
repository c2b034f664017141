"""Nothing at all happens: healthy training, with whatever pauses the scenario asks for."""

from bench.fault import SILENT
from bench.strike import Strike

strike = Strike(says={"*": SILENT}, watch_s=25.0)
