"""The one process that takes over what all workers append, until somebody closes its input."""

import sys

from holdfast import rows

with rows.central(sys.argv[1]):
    print("takes over", flush=True)
    sys.stdin.read()
print("done", flush=True)
