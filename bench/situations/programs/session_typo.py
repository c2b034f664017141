"""The list of hosts that is kept for worker 1 has 2223 for 2222, so to speak."""

from session_training import told, train

cluster, me = told()
if me == "worker:1":
    host, _, port = cluster["ps"][0].rpartition(":")
    cluster["ps"][0] = f"{host}:{int(port) + 1}"
train(cluster, is_chief=me == "worker:0")
