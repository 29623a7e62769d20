"""Programs that people differentiate by hand, with small inputs.

Programs of numbers and small matrices alone run with PyTorch's tensors, too; see ``tests/benchmarks``.
"""

import math

import numpy as np


def rk4(rhs, y0, p, steps, dt):
    y = np.copy(y0)
    for _ in range(steps):
        k1 = rhs(y, p)
        k2 = rhs(y + 0.5 * dt * k1, p)
        k3 = rhs(y + 0.5 * dt * k2, p)
        k4 = rhs(y + dt * k3, p)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y.sum()


def adaptive(p, tolerance):
    """Heun's method with steps that depend on the error."""
    t, y, h = 0.0, 1.0, 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        a = -p[0] * y + math.sin(p[1] * t)
        b = -p[0] * (y + h * a) + math.sin(p[1] * (t + h))
        error = abs(0.5 * h * (b - a))
        if error > tolerance:
            h = 0.5 * h
            continue
        t = t + h
        y = y + 0.5 * h * (a + b)
        if error < 0.25 * tolerance:
            h = 1.5 * h
    return y


def kalman(F, H, Q, R, ys):
    n = F.shape[0]
    x = np.zeros(n)
    P = np.eye(n)
    total = 0.0
    for t in range(ys.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        residual = ys[t] - H @ x
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ residual
        P = P - K @ H @ P
        total -= 0.5 * (residual @ np.linalg.solve(S, residual) + math.log(np.linalg.det(S)))
    return total


def hmm(log_transitions, log_emissions, observed):
    states = log_transitions.shape[0]
    f = log_emissions[:, observed[0]].copy()
    for t in range(1, observed.shape[0]):
        g = np.empty(states)
        for j in range(states):
            top = -1e300
            for i in range(states):
                top = max(top, f[i] + log_transitions[i, j])
            s = 0.0
            for i in range(states):
                s += math.exp(f[i] + log_transitions[i, j] - top)
            g[j] = top + math.log(s) + log_emissions[j, observed[t]]
        f = g
    top = np.max(f)
    return top + np.log(np.sum(np.exp(f - top)))


def soft_dtw(D, gamma):
    n, m = D.shape
    R = np.full((n + 1, m + 1), 1e10)
    R[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            a, b, c = -R[i, j] / gamma, -R[i, j + 1] / gamma, -R[i + 1, j] / gamma
            top = max(a, b, c)
            s = math.exp(a - top) + math.exp(b - top) + math.exp(c - top)
            R[i + 1, j + 1] = D[i, j] - gamma * (top + math.log(s))
    return R[n, m]


def conjugate_gradients(data, indices, pointers, b):
    n = b.shape[0]
    x, r, p = np.zeros(n), np.copy(b), np.copy(b)
    rr = np.dot(r, r)
    while rr > 1e-9:
        q = np.zeros(n)
        for i in range(n):
            for k in range(pointers[i], pointers[i + 1]):
                q[i] += data[k] * p[indices[k]]
        alpha = rr / np.dot(p, q)
        x += alpha * p
        r -= alpha * q
        new = np.dot(r, r)
        p = r + new / rr * p
        rr = new
    return np.sum(x * x)


def ray_march(grid, x, y, dx, dy):
    seen, through = 0.0, 1.0
    for _ in range(100):
        x += dx
        y += dy
        i, j = math.floor(x), math.floor(y)
        if i < 0 or j < 0 or i + 1 >= grid.shape[0] or j + 1 >= grid.shape[1]:
            break
        u, v = x - i, y - j
        density = (1 - u) * ((1 - v) * grid[i, j] + v * grid[i, j + 1]) + u * (
            (1 - v) * grid[i + 1, j] + v * grid[i + 1, j + 1])
        through = through * math.exp(-density)
        seen = seen + through * density
        if through < 0.05:
            break
    return seen


def american_put(spot, strike, sigma, rate, steps, count):
    top = 3.0 * strike
    ds, dt = top / count, 1.0 / steps
    value = np.empty(count + 1)
    for i in range(count + 1):
        value[i] = max(strike - i * ds, 0.0)
    for _ in range(steps):
        old = value.copy()
        for i in range(1, count):
            gamma = sigma * sigma * i * i
            new = old[i] + dt * (0.5 * gamma * (old[i + 1] - 2 * old[i] + old[i - 1])
                                 + 0.5 * rate * i * (old[i + 1] - old[i - 1]) - rate * old[i])
            value[i] = max(new, strike - i * ds)
    k = int(spot / ds)
    w = spot / ds - k
    return (1 - w) * value[k] + w * value[k + 1]


def lennard_jones(x, neighbours, counts, cutoff):
    energy = 0.0
    for i in range(x.shape[0]):
        for k in range(counts[i]):
            j = neighbours[i, k]
            r2 = 0.0
            for axis in range(3):
                d = x[i, axis] - x[j, axis]
                r2 += d * d
            if r2 > cutoff * cutoff:
                continue
            s6 = 1.0 / r2**3
            energy += 4.0 * (s6 * s6 - s6)
    return energy


def spline(knots, values, slopes, points):
    total = 0.0
    for point in points:
        k = min(max(np.searchsorted(knots, point) - 1, 0), knots.shape[0] - 2)
        h = knots[k + 1] - knots[k]
        t = (point - knots[k]) / h
        total += (1 - t) ** 2 * ((1 + 2 * t) * values[k] + t * h * slopes[k])
        total += t**2 * ((3 - 2 * t) * values[k + 1] + (t - 1) * h * slopes[k + 1])
        total += (1 - t) * values[k] + t * values[k + 1]
    return total


def mixture(alphas, means, packed, points):
    """Log-likelihood of Gaussians whose triangular factors are packed, with logarithms of the diagonals first."""
    components, n = means.shape
    total = 0.0
    for point in points:
        terms = np.empty(components)
        for k in range(components):
            z = 0.0
            place = n
            logdet = 0.0
            for i in range(n):
                e = math.exp(packed[k, i]) * (point[i] - means[k, i])
                logdet += packed[k, i]
                for j in range(i):
                    e += packed[k, place] * (point[j] - means[k, j])
                    place += 1
                z += e * e
            terms[k] = alphas[k] + logdet - 0.5 * z
        top = terms.max()
        total += top + math.log(np.sum(np.exp(terms - top)))
    return total


def garch(p, returns):
    s, total = 0.1, 0.0
    for t in range(returns.shape[0]):
        s = p[0] + p[1] * returns[t] * returns[t] + p[2] * s
        total += math.log(s) + returns[t] * returns[t] / s
    return total


def implied_volatility(price, strike):
    s = 0.3
    for _ in range(50):
        d1 = (math.log(1.0 / strike) + 0.5 * s * s) / s
        given = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        given -= strike * 0.5 * (1.0 + math.erf((d1 - s) / math.sqrt(2.0)))
        step = (given - price) / (math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi))
        s = s - step
        if abs(step) < 1e-13:
            break
    return s


def predator(y, p):
    out = np.empty(2)
    out[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    out[1] = p[1] * y[0] * y[1] - y[1]
    return out


def cases():
    """Return the programs with their arguments."""
    draw = np.random.default_rng(0)
    places = draw.normal(size=(5, 3)) * 1.5 + 2.0 * np.arange(5)[:, None]
    others = np.array([[j for j in range(5) if j != i] for i in range(5)])
    stiff = np.array([4.0, -1, -1, 4.0, -1, -1, 4.0])
    return [
        (adaptive, [np.array([1.5, 3.0]), 1e-3]),
        (kalman, [np.array([[1.0, 0.5], [0.0, 0.9]]), np.array([[1.0, 0.2]]), 0.1 * np.eye(2), np.array([[0.5]]),
                  draw.normal(size=(4, 1))]),
        (hmm, [np.log(draw.dirichlet(np.ones(3), 3)), np.log(draw.dirichlet(np.ones(4), 3)),
               np.array([0, 3, 1, 1, 2])]),
        (soft_dtw, [draw.random((4, 5)), 0.7]),
        (conjugate_gradients, [stiff, np.array([0, 1, 0, 1, 2, 1, 2]), np.array([0, 2, 5, 7]), draw.normal(size=3)]),
        (ray_march, [draw.random((6, 6)) * 0.5, 0.3, 0.4, 0.37, 0.21]),
        (american_put, [1.03, 1.0, 0.3, 0.05, 40, 20]),
        (lennard_jones, [places, others, np.array([4, 4, 4, 4, 4]), 6.0]),
        (spline, [np.array([0.0, 1.0, 2.5, 3.0]), draw.normal(size=4), draw.normal(size=4), np.array([0.2, 1.7, 2.9])]),
        (mixture, [draw.normal(size=2), draw.normal(size=(2, 3)), draw.normal(size=(2, 6)), draw.normal(size=(3, 3))]),
        (garch, [np.array([0.1, 0.1, 0.8]), draw.normal(size=30)]),
        (implied_volatility, [0.12, 1.1]),
    ]
