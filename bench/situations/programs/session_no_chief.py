"""Only a chief may prepare the variables, and this cluster has none."""

from session_training import told, train

cluster, me = told()
train(cluster, is_chief=me.startswith("chief"))
