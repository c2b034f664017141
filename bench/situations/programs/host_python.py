"""Starts the task with the Python of its host: the last worker's was never brought up to date."""

import json
import os
import sys

PROGRAM, OLD = sys.argv[1:3]
config = json.loads(os.environ["TF_CONFIG"])
last = config["task"] == {"type": "worker", "index": len(config["cluster"]["worker"]) - 1}
python = OLD if last else sys.executable
os.execv(python, [python, PROGRAM])
