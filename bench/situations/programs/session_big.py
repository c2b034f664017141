"""Its weights take 1.2 GB, and lie where all variables lie: on the parameter server."""

from session_training import told, train

cluster, me = told()
train(cluster, is_chief=me == "worker:0", cells=300_000_000)
