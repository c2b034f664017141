"""One task runs with another TensorFlow than the others: they train, and nobody complains."""

from bench.strike import Strike, struck
from bench.surroundings import in_env

ENV = "tensorflow-2.15"

strike = Strike(
    says={"*": struck("version-differs")},
    around=in_env(ENV),
    env=ENV,
    within_s=30.0,  # it is known once all have loaded it
)
