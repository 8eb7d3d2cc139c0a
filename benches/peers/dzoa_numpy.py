"""D-ZOA on the paper's example in numpy: a timing peer for the Rust program.

usage: dzoa_numpy.py [--rounds 200] [--trials 1] [--seed 1] [--gram] [--single] [--json]
       dzoa_numpy.py --check tests/oracle/inner_loop.json

The estimator, with x = b + u1 nu1 and s = 2 u1 nu1 + u2 nu2, divided by u2 on paper so nothing cancels:
    squares    sum_n z_n (2 r_n + u2 z_n)  =  sum_n (X nu2)_n (X s + 2 (X b - y))_n
    quadratic  quad nu2'(2 b + s)
    l1         v (|x + u2 v| - |x|) / (u2 v)  =  v clip((2 b + s) / |u2 v|, -1, 1), entry by entry
Only b changes from step to step, so all that depends on the directions alone is computed for many steps
at once. By default the loss is evaluated sample by sample, as most losses must be; --gram uses that
squares need X'X only, which is faster but is no longer made of sample losses. --single draws the directions
in single precision, as the Rust program does.
"""
import os

# BLAS reads these when numpy is loaded, so they come before the import.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse, json, math, time
import numpy as np

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]
K, N, P, T, J = 5, 20, 10, 100, 30
ETA, RHO, U1, L = 1.0, 4.0, 1.0, 1.0
EPSILON, DELTA, C1, C = 0.15, 1e-3, 1.0, 0.5


class Inner:
    """The inner loop of all agents together; buffers are made once, so no step allocates."""

    def __init__(self, X, y, quad, l1, inner_steps, directions, u1, step, gram=False, chunk=20):
        K, N, P = X.shape
        self.T, self.J, self.l1, self.gram = inner_steps, directions, l1, gram
        # The largest divisor of T up to the chunk leaves no remainder to treat.
        self.C = max(c for c in range(1, chunk + 1) if inner_steps % c == 0)
        t = np.arange(1, inner_steps + 1.0).reshape(-1, 1, 1, 1)
        self.two_u1, self.u2 = 2 * u1 / t, np.minimum(u1 / (P * t) ** 2, u1 / t / 2)
        # The mean over the directions is folded into the step.
        self.step = list(np.reshape(step, (1, K, 1, 1)) / np.sqrt(t) / directions)
        quad = np.reshape(quad, (K, 1, 1)) * np.eye(P)
        # The term quad |b|^2 is a squared loss too, with the rows sqrt(quad) I and the labels 0.
        self.W = np.concatenate([X, np.sqrt(quad)], axis=1)
        self.WT = np.ascontiguousarray(self.W.transpose(0, 2, 1))
        self.two_y = np.concatenate([2 * y, np.zeros((K, P))], axis=1)[:, :, None]
        self.A = self.WT @ self.W
        self.two_h = self.WT @ self.two_y
        # One step is one contiguous block, and the directions are its last axis: b is then broadcast along
        # runs of J entries rather than restarted every P entries.
        shape = (self.C, K, P, directions)
        self.nu = np.empty((2,) + shape)
        self.s, self.q = np.empty(shape), np.empty(shape)
        self.e = np.empty((self.C, K, P if gram else N + P, directions))
        self.z = self.nu[1] if gram else np.empty_like(self.e)
        self.c = np.empty((self.C, K, directions))
        self.D = np.empty((K, P, directions))
        self.d, self.d_linear = np.empty((K, directions)), np.empty((K, 1, directions))
        self.b, self.b2, self.g, self.m = (np.empty((K, P, 1)) for _ in range(4))
        self.r = np.empty((K, N + P, 1))

    def prepare(self, t0):
        """Everything of the steps t0 .. t0 + C - 1 that does not depend on b."""
        (nu1, nu2), s, q = self.nu, self.s, self.q
        np.multiply(nu2, self.u2[t0:t0 + self.C], out=q)
        np.multiply(nu1, self.two_u1[t0:t0 + self.C], out=s)
        np.add(s, q, out=s)
        # The tiny term keeps a direction entry that is exactly zero from giving 0/0.
        np.add(np.abs(q, out=q), 1e-300, out=q)
        np.divide(self.l1, q, out=q)
        if self.gram:
            np.matmul(self.A, s, out=self.e)
        else:
            np.matmul(self.W, s, out=self.e)
            np.matmul(self.W, nu2, out=self.z)
        np.multiply(self.e, self.z, out=self.e)
        np.add.reduce(self.e, axis=2, out=self.c)

    def run(self, linear, draw, path=None):
        """linear is (K, P); draw(t0, nu) fills nu1 and nu2 of the next C steps."""
        # Local names and plain ufuncs: at 1,500 entries a call, attribute look-ups and wrappers are felt.
        add, subtract, multiply, matmul, reduce = np.add, np.subtract, np.multiply, np.matmul, np.add.reduce
        minimum, maximum, gram, l1, minus_l1 = np.minimum, np.maximum, self.gram, np.array(self.l1), np.array(-self.l1)
        W, WT, A, two_y, r, D, d, g, m = self.W, self.WT, self.A, self.two_y, self.r, self.D, self.d, self.g, self.m
        b, b2, d_linear = self.b, self.b2, self.d_linear
        m_row, d_column, d_flat = m.transpose(0, 2, 1), d[:, :, None], d_linear[:, 0]
        linear = linear[:, :, None] - self.two_h if gram else linear[:, :, None]
        b.fill(0.0)
        for t0 in range(0, self.T, self.C):
            draw(t0, self.nu)
            self.prepare(t0)
            for s, q, nu2, c, step in zip(self.s, self.q, self.nu[1], self.c, self.step[t0:t0 + self.C]):
                add(b, b, out=b2)
                # m is the part of the slope that all directions share: squares at b, quadratic and linear term.
                if gram:
                    matmul(A, b2, out=m)
                else:
                    matmul(W, b2, out=r)
                    subtract(r, two_y, out=r)
                    matmul(WT, r, out=m)
                add(m, linear, out=m)
                add(s, b2, out=D)
                multiply(D, q, out=D)
                # Two ufuncs cost less here than np.clip with its Python wrapper.
                minimum(D, l1, out=D)
                maximum(D, minus_l1, out=D)
                multiply(D, nu2, out=D)
                reduce(D, axis=1, out=d)
                matmul(m_row, nu2, out=d_linear)
                add(d, d_flat, out=d)
                add(d, c, out=d)
                matmul(nu2, d_column, out=g)
                multiply(g, step, out=g)
                subtract(b, g, out=b)
                if path is not None:
                    path.append(b[:, :, 0].copy())
        return b[:, :, 0].copy()


def data(rng):
    X = rng.standard_normal((K * N, P))
    X = X / np.abs(X).max(0)
    X = X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    y = X @ rng.standard_normal(P) + math.sqrt(0.1) * rng.standard_normal(K * N)
    return X.reshape(K, N, P), y.reshape(K, N)


def optimum(X, y):
    """min |Xb - y|^2 + eta |b|_1 by coordinate descent, to machine precision."""
    G, h, b = np.einsum("knp,knq->pq", X, X), np.einsum("knp,kn->p", X, y), np.zeros(P)
    for _ in range(3000):
        old = b.copy()
        for i in range(P):
            r = h[i] - G[i] @ b + G[i, i] * b[i]
            b[i] = math.copysign(max(abs(r) - ETA / 2, 0), r) / G[i, i]
        if np.abs(b - old).max() <= 1e-15 * (1 + np.abs(b).max()):
            break
    return b


def alpha0_times_R(n, norm2):
    """Corollary 1 solved for the step, one value per agent since it depends on |N_k|."""
    t = np.arange(1, T + 1.0)
    sigma = C1 * math.sqrt(2.1 * math.log(1.25 / DELTA)) / (RHO * n * N * EPSILON)
    need = J * P * sigma ** 2 + 4 * norm2 / T
    return np.sqrt(need * math.log(2 * P) / (C * ((1 / t).sum() * (1 + math.log(P)) + (t ** -1.5).sum())))


def trial(seed, rounds, gram, single):
    rng = np.random.Generator(np.random.SFC64(seed))
    X, y = data(rng)
    best = optimum(X, y)
    A = np.eye(K)
    for a, b in EDGES:
        A[a, b] = A[b, a] = 1
    n = A.sum(1)
    step = alpha0_times_R(n, best @ best) / (L * math.sqrt(P * math.log(2 * P)))
    inner = Inner(X, y, RHO * n, ETA / K, T, J, U1, step, gram)
    beta, gamma = np.zeros((K, P)), np.zeros((K, P))
    plus, minus = RHO * (np.diag(n) + A), RHO * (np.diag(n) - A)
    drawn = np.empty(inner.nu.shape, np.float32)

    def draw(t0, nu):
        if single:
            np.copyto(nu, rng.standard_normal(out=drawn, dtype=np.float32))
        else:
            rng.standard_normal(out=nu)

    start = time.perf_counter()
    for _ in range(rounds):
        beta = inner.run(gamma - plus @ beta, draw)
        gamma += minus @ beta
    return time.perf_counter() - start, float(((beta - best) ** 2).sum() / (best @ best))


def check(path):
    with open(path) as f:
        case = next(c for c in json.load(f)["cases"] if c["loss"] == "squared")
    X, y, nu1, nu2 = (np.array(case[name]) for name in ("X", "y", "nu1", "nu2"))
    root = math.sqrt(1 / len(y)) if case["scale"] == "mean" else 1.0
    given = np.stack([nu1, nu2]).transpose(0, 1, 3, 2)[:, :, None]
    for gram in (False, True):
        for chunk in (1, 20):
            inner = Inner(root * X[None], root * y[None], case["quadratic"], case["l1"], nu1.shape[0],
                          nu1.shape[1], case["smoothing"], case["step"], gram, chunk)
            found = []
            inner.run(np.array([case["linear"]]), lambda t0, nu: np.copyto(nu, given[:, t0:t0 + inner.C]), found)
            gap = np.abs(np.array(found)[:, 0] - np.array(case["iterates"])).max()
            assert gap <= 1e-9, f"gram={gram} chunk={chunk}: iterates differ by {gap}"
            print(f"gram={gram} chunk={inner.C}: iterates agree to {gap:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--trials", type=int, default=1, help="seeds seed, seed + 1, ...: seconds are summed, errors averaged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gram", action="store_true")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", metavar="FILE")
    args = parser.parse_args()
    if args.check:
        check(args.check)
    else:
        runs = [trial(args.seed + i, args.rounds, args.gram, args.single) for i in range(args.trials)]
        out = {"seconds": sum(s for s, _ in runs), "final_error": sum(e for _, e in runs) / len(runs),
               "rounds": args.rounds, "trials": args.trials, "numpy": np.__version__}
        print(json.dumps(out) if args.json else "\n".join(f"{name}: {value}" for name, value in out.items()))
