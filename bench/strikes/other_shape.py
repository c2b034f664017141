"""One task has a variable of another shape than the others."""

from bench.fault import told
from bench.strike import STRUCK, Since, Strike

strike = Strike(
    says={
        # TensorFlow names whoever came later, right or wrong: to accuse nobody is right, too.
        "mirrored": told("collective-mismatch", STRUCK, None),
        # The variable is as its first user declared it: who fails is not who is wrong.
        # Where it computes with what it got before it is checked, its own shapes do not fit.
        "session": told("variable-mismatch shape-mismatch", None, STRUCK),
    },
    options=("--differ", "shape", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
