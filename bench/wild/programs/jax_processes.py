"""Several JAX processes on CPUs, which gather their gradients in each step."""

import os

import jax  # type: ignore[import-not-found]  # it lives in an environment of its own
import jax.numpy as jnp  # type: ignore[import-not-found]
from act import BATCH, FEATURES, Act
from jax.experimental import multihost_utils  # type: ignore[import-not-found]


def loss_of(weights: jax.Array, features: jax.Array) -> jax.Array:
    return jnp.mean((features @ weights - features.sum(1, keepdims=True)) ** 2)


def main() -> None:
    number, total = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
    act = Act(f"worker:{number}")
    act.start()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    act.enter(0)
    jax.distributed.initialize(num_processes=total, process_id=number)
    weights = jnp.zeros((FEATURES, 1))
    slope = jax.jit(jax.value_and_grad(loss_of))
    act.done(0)
    key = jax.random.key(number)
    for step in range(1, act.plan.steps + 1):
        act.own_part(step)
        key, fresh = jax.random.split(key)
        features = jax.random.normal(fresh, (BATCH, FEATURES))
        loss, gradient = slope(weights, features)
        gradient.block_until_ready()
        act.enter(step)
        weights -= 0.02 * multihost_utils.process_allgather(gradient).mean(axis=0)
        act.after_step(step, float(loss))
    act.end()
    print("done", flush=True)


if __name__ == "__main__":
    main()
