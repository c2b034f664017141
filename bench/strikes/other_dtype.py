"""One task has a variable of another type than the others."""

from bench.fault import told
from bench.strike import STRUCK, Since, Strike

strike = Strike(
    says={
        # TensorFlow names whoever came later, right or wrong: to accuse nobody is right, too.
        "mirrored": told("collective-mismatch", STRUCK, None),
        # The variable is as its first user declared it: who fails is not who is wrong.
        "session": told("variable-mismatch", None),
    },
    options=("--differ", "dtype", "--differ-task", "{task}"),
    within_s=2.0,
    since=Since.DEATH,
)
