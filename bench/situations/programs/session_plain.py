"""Nothing is wrong in it."""

from session_training import told, train

cluster, me = told()
train(cluster, is_chief=me == "worker:0")
