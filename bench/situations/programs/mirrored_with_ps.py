"""A parameter server, and workers that create MultiWorkerMirroredStrategy."""

import json
import os

import tensorflow as tf
from training import task, train

if task().startswith("ps"):
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    tf.distribute.Server(cluster, job_name="ps", task_index=0).join()
train(lambda step: None)
