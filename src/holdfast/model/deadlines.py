"""The time-outs of TensorFlow, gRPC and TCP, and what a network of a given latency needs.

Measured on TensorFlow 2.15 and 2.21, by breaking real clusters.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.model.facts import Fact, PathMeasured
from holdfast.model.words import seconds_text

BEATS_S = 10.0  # after which a MultiWorkerMirrored task that says nothing is given up
CONNECT_S = 20.0  # gRPC's, for one connection
RETRIES = 15  # net.ipv4.tcp_retries2
RETRIES_MIN, RETRIES_MAX = 5, 15
FIRST_RETRY_S, LONGEST_RETRY_S = 0.2, 120.0  # Linux's, for what nobody acknowledges
RARE = 1e-6  # a call that fails once in so many is no reason to give anybody up
RETRIES_ASKED_MAX = 16
CALLS = 4  # that must fit into a deadline: one may be lost, and one may be late
STEP_TRIPS = 9  # round trips that a step of three mirrored workers waited for
COLLECTIVE_S_MIN = 60
LOST_SHARE_MAX = 0.5  # beyond, nothing that is waited for comes

PAGE = """\
The time-outs that decide when a distributed job notices a fault: by default most of them are
minutes, an hour, or never.

## MultiWorkerMirroredStrategy
| what | by default | what it does, and how to change it |
| --- | --- | --- |
| a task that says nothing | about 10 s | all tasks end, seen after 7.6 to 9.5 s. \
`context.context().configure_coordination_service("standalone", \
service_leader="/job:worker/replica:0/task:0", heartbeat_timeout_in_ms=60000)` (of \
`tensorflow.python.eager`) before the strategy is made: with 60 s a pause of 20 s is survived, \
with 3 s a fault is noticed after 3.5 s |
| a task that never comes | 3600 s | everybody waits in silence. `cluster_register_timeout_in_ms` \
of the same call helps only if the first worker is missing |
| a collective that nobody ends | never | a deadlock, an endless loop or a straggler stops all, in \
silence. `tf.distribute.experimental.CommunicationOptions(timeout_seconds=60)`: those who wait \
end, the culprit hangs on |

## ParameterServerStrategy
| what | by default | what it does, and how to change it |
| --- | --- | --- |
| a task that never comes | never | the chief waits without one line; there is no setting |
| a worker or ps that hangs | never | `TF_CLUSTER_COORDINATOR_WATCH_DOG_TIMEOUT=20` has the chief \
write its stacks after 20 s; nothing ends |
| a worker that was away | 600 s | then its state is forgotten, and made again when it is back |
| a lost ps | at once | `TF_PSS_ENABLE_COORDINATION_SERVICE=1` makes that 9 s |

## MonitoredTrainingSession and tf.estimator
| what | by default | what it does, and how to change it |
| --- | --- | --- |
| a task that never comes | never | says so every 10 s, at level INFO. `device_filters` of \
`ConfigProto`: then a missing worker does not matter |
| the chief's variables | 30 s | a worker looks for them every `recovery_wait_secs` |
| a ps that is lost | never | the session hangs while it closes, until a ps is back at that \
address |
| `operation_timeout_in_ms` | off | does not fire while a ps hangs, and ends the job when it is \
back: leave it off |
| the chief's end | 120 s | `stop_grace_period_secs`: a good run may end that late |

## gRPC and TCP, for all of them
| what | by default | what it does, and how to change it |
| --- | --- | --- |
| a connection that is not answered | 20 s | `connect() timed out`: packets are dropped; a refused \
one fails at once |
| a path that is cut in silence | 939 s | the kernel's limit for what nobody acknowledges. `sysctl \
net.ipv4.tcp_retries2=5` makes that 13.4 s, with no change to the program |
"""


@dataclass(frozen=True, slots=True)
class Network:
    """How far away the others are: the slowest round trip, and what gets lost."""

    round_trip_s: float
    lost_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Advice:
    says: str
    default_is_wrong: bool


def worst_call_s(network: Network) -> float:
    """How long all but one of a million calls take: what is lost is sent again, later each time."""
    lost = min(network.lost_share, LOST_SHARE_MAX)
    again = math.ceil(math.log(RARE) / math.log(lost)) - 1 if lost > 0 else 0
    return network.round_trip_s + _given_up_s(network, min(again, RETRIES_ASKED_MAX) - 1)


def _given_up_s(network: Network, retries: int) -> float:
    """When the kernel gives up after so many retries, each twice as late as the one before."""
    first_s = FIRST_RETRY_S + network.round_trip_s
    return sum(min(LONGEST_RETRY_S, first_s * (1 << number)) for number in range(retries + 1))


def advice(network: Network) -> tuple[Advice, ...]:
    """What to set for this network, and where the default would be wrong."""
    call_s = worst_call_s(network)
    return (_beats(call_s), _connect(call_s), _collective(network, call_s), _cut(network, call_s))


def _beats(call_s: float) -> Advice:
    need_s = math.ceil(CALLS * call_s)
    if need_s <= BEATS_S:
        enough = f"the {BEATS_S:.0f} s for a silent mirrored task are enough"
        says = f"{enough}: a call takes at most {seconds_text(call_s)}"
        return Advice(says, default_is_wrong=False)
    return Advice(
        f"a call may take {seconds_text(call_s)}, so that {BEATS_S:.0f} s of silence would end a"
        f" healthy mirrored job: heartbeat_timeout_in_ms={need_s * 1000}",
        default_is_wrong=True,
    )


def _connect(call_s: float) -> Advice:
    wrong = CALLS * call_s > CONNECT_S
    how = "too few: mend the path, this cannot be set" if wrong else "enough"
    return Advice(f"the {CONNECT_S:.0f} s for a connection are {how}", wrong)


def _collective(network: Network, call_s: float) -> Advice:
    step_s = STEP_TRIPS * network.round_trip_s
    limit_s = max(COLLECTIVE_S_MIN, math.ceil(10 * (step_s + call_s)))
    return Advice(
        f"a mirrored step waits for about {STEP_TRIPS} round trips, here {seconds_text(step_s)};"
        f" CommunicationOptions(timeout_seconds={limit_s}) ends a hang, unless a step, a"
        " checkpoint or an evaluation takes longer",
        default_is_wrong=False,
    )


def _cut(network: Network, call_s: float) -> Advice:
    """Sooner than a quarter of an hour, later than what gets through in the end."""
    retries = next(
        (
            number
            for number in range(RETRIES_MIN, RETRIES_MAX)
            if _given_up_s(network, number) >= CALLS * call_s
        ),
        RETRIES_MAX,
    )
    usual_s, cut_s = _given_up_s(network, RETRIES), _given_up_s(network, retries)
    return Advice(
        f"sysctl net.ipv4.tcp_retries2={retries}: a path that is cut in silence is noticed after"
        f" {cut_s:.0f} s, not after {usual_s:.0f} s",
        default_is_wrong=False,
    )


def worst_network(facts: Iterable[Fact]) -> Network | None:
    """The slowest and the most lossy of all that were measured; None: nobody measured."""
    seen = [fact for fact in facts if isinstance(fact, PathMeasured) and fact.tries > fact.lost]
    if not seen:
        return None
    return Network(max(fact.p99_s for fact in seen), max(fact.lost / fact.tries for fact in seen))
