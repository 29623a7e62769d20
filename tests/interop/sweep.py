"""A parameter sweep in the processes of a pool, whose functions are defined in the main program.

python sweep.py POOL...: prints the results of each pool.
"""

import concurrent.futures
import multiprocessing
import sys

import joblib
import numba

import numgrad as torch
from numgrad import nn


@torch.vectorize
def huber(x, threshold):
    return half_square(x) if abs(x) < threshold else threshold * (abs(x) - 0.5 * threshold)


@numba.njit
def half_square(x):
    return 0.5 * x * x


@torch.differentiable
def power_sum(a, n):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] ** n
    return total


@torch.compile
def energy(x):
    return (x * x).sum()


def train(rate, model, optimizer, functions):
    """The parameters after a step of gradient descent, and the numbers of threads."""
    loss, *terms = functions
    optimizer.param_groups[0]["lr"] = rate
    x = torch.arange(3, dtype=torch.float64)
    optimizer.zero_grad()
    value = loss(model(x) - 3, 1.0).sum() + sum(term(model.weight[0]) for term in terms)
    value.backward()
    optimizer.step()
    return model.weight.tolist(), torch.get_num_threads()


def cubes(a):
    return power_sum(a, 3)


def pool_of(kind):
    if kind == "loky":
        pool = joblib.Parallel(2, backend="loky", batch_size=1)
        return lambda calls: pool(joblib.delayed(train)(*call) for call in calls)
    context = multiprocessing.get_context(kind)

    def run(calls):
        with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
            return list(pool.map(train, *zip(*calls, strict=True)))

    return run


if __name__ == "__main__":
    model = nn.Linear(3, 1, bias=False, dtype=torch.float64)
    nn.init.constant_(model.weight, 0.5)
    optimizer = torch.optim.SGD(model.parameters())
    energy(model.weight[0])
    for kind in sys.argv[1:]:
        functions = (huber, energy, cubes) if kind == "loky" else (huber, energy)
        print([weight for weight, _ in pool_of(kind)([(rate, model, optimizer, functions) for rate in (0.1, 0.2)])])
