"""What a fit takes beside the rows themselves, measured in a process of its own."""

import subprocess
import sys

import pytest

# The largest size of the process before and after the fit, over the size of X.
PROGRAM = """
import resource, sys
import numpy as np
import dzoa

rows, order, options = int(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
generator = np.random.default_rng(0)
X = np.asarray(generator.standard_normal((rows, 20)), order=order)
y = np.where(X[:, 0] + X[:, 1] > 0, 1, 0)
# What is loaded once is not the fit's.
dzoa.LogisticRegression(agents=4, **options).fit(X[:2000], y[:2000])
# Kilobytes, on Linux.
size = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = size()
dzoa.LogisticRegression(agents=4, **options).fit(X, y)
print((size() - before) / X.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sizes are measured as Linux gives them")
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_fit_takes_at_most_twice_the_rows_beside_them(order):
    # 64 MB: three times the rows in binary form, with X itself.
    command = [sys.executable, "-c", PROGRAM, "400000", order, "{}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) <= 2.0
