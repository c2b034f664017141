"""The same lockstep job as mirrored.py, in JAX: gradients summed over gloo, on CPUs."""

import os
import time

import faulty
import jax  # type: ignore[import-not-found]  # it lives in an environment of its own
import jax.numpy as jnp  # type: ignore[import-not-found]
from committed import Faults
from jax.experimental import multihost_utils  # type: ignore[import-not-found]

REPORT_EVERY_STEPS = 20
BATCH = 16
SLOPES = ((2.0,), (-1.0,), (0.5,), (3.0,))
LEARNING_RATE = 0.02


def main() -> None:
    told = faulty.options(stepless=())
    faults = Faults(told)
    faults.start(in_steps=True)
    number = int(os.environ["JAX_PROCESS_ID"])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    total = int(os.environ["JAX_NUM_PROCESSES"])
    jax.distributed.initialize(num_processes=total, process_id=number)  # JAX knows the address
    train(told, faults, number)
    print("done", flush=True)


def train(told: faulty.Options, faults: Faults, number: int) -> None:
    weights = jnp.zeros((len(SLOPES), 1))
    slope = jax.jit(jax.value_and_grad(loss_of))
    key = jax.random.key(number)
    print("training begins", flush=True)
    for step in range(1, told.steps + 1):
        key, fresh = jax.random.split(key)
        features = jax.random.normal(fresh, (BATCH, len(SLOPES)))
        loss, gradient = slope(weights, features)
        everybodys = multihost_utils.process_allgather(gradient)
        weights -= LEARNING_RATE * everybodys.mean(axis=0)
        if step % REPORT_EVERY_STEPS == 0 or step == told.steps:
            print(f"step {step} loss {float(loss):.3f}", flush=True)
        faults.step_done(step)
        time.sleep(faults.step_pause_s)


def loss_of(weights: jax.Array, features: jax.Array) -> jax.Array:
    return jnp.mean((features @ weights - features @ jnp.array(SLOPES)) ** 2)


if __name__ == "__main__":
    main()
