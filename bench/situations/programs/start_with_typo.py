"""A script of the site: it writes TF_CONFIG of worker 1 anew, and mistypes a port."""

import json
import os
import sys

config = json.loads(os.environ["TF_CONFIG"])
if config["task"] == {"type": "worker", "index": 1}:
    host, _, port = config["cluster"]["worker"][0].rpartition(":")
    config["cluster"]["worker"][0] = f"{host}:{int(port) + 1}"
    os.environ["TF_CONFIG"] = json.dumps(config)
os.execvp(sys.argv[1], sys.argv[1:])
