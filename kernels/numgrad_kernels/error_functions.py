"""The scaled complementary error function and the inverses of the error function, for ``@njit`` code.

erfcx has the expansion of Shepherd and Laframboise (*Mathematics of Computation* 36, 1981), erfinv one in
``-ln(1 - y^2)`` as by Giles ("Approximating the erfinv function", 2011).  The coefficients are numgrad's.
"""

from __future__ import annotations

import math

from . import polynomials
from .instructions import Value, absolute, copysign, fma, instruction, product_rest, select
from .series import Coefficients, polynomial

_sqrt = instruction("llvm.sqrt")

#: e^(x^2) erfc x = (c0 + c1 t + ...) / (1 + 2 x) for t = (x - 3.75) / (x + 3.75), x >= 0.
_ERFCX = Coefficients(
    float32=(
        1.2375126, -0.14024065, 0.0035854953, 0.08227842, -0.108805224, 0.09229077, -0.05868544, 0.028409252,
        -0.009770087, 0.0016759122, 0.00033016744, -0.00022411675, 2.204672e-05,
    ),
    float64=(
        1.2375126308378275, -0.14024059858554697, 0.0035854154854644293, 0.0822767384901452,
        -0.10880393014174886, 0.09230432116037748, -0.05869339858963677, 0.028362277418956406,
        -0.009746579558029276, 0.0017556258528952954, 0.0002937136655913448, -0.0002901540805408417,
        5.164909889268241e-05, 2.2384239155082227e-05, -1.1444146237700527e-05, -9.735598967367726e-07,
        1.7516376488490678e-06, -5.721823060322682e-08, -2.58668507161565e-07, 2.3263508708861142e-08,
        3.8675334242226635e-08, -3.744210080962868e-09, -5.1739902140130185e-09, 3.1114333809814733e-10,
        4.251471444799371e-10,
    ),
)

#: erfinv y = y (c0 + c1 t + ...) for t = w / 4 - 1, w = -ln(1 - y^2) <= 8.
_ERFINV_NEAR = Coefficients(
    float32=(
        1.8587791, 0.9134187, -0.11553671, -0.013054153, 0.030428587, -0.015887994, 0.0020186654, 0.002905468,
        -0.0022693314, 0.0004845176, 0.00043010226, -0.00030802793, -1.7637973e-05, 4.730785e-05,
    ),
    float64=(
        1.8587791124269735, 0.913418741350761, -0.11553695922940597, -0.013054209120186754, 0.0304327140167782,
        -0.01588750456798925, 0.001992877840316486, 0.0029039611828775083, -0.0021912917602461405,
        0.00048498006187434775, 0.00030513025143495004, -0.00030099858782497307, 8.794324273621108e-05,
        3.127094356703795e-05, -4.128769893801147e-05, 1.4784929763207288e-05, 2.8645694244224523e-06,
        -5.620131252729101e-06, 2.407534826982412e-06, 1.4531985602834293e-07, -7.707421238047361e-07,
        4.3457289632091424e-07, -2.4453414497914907e-09, -1.4922015774610531e-07, 6.110909163538451e-08,
        2.2639726903016225e-08, -1.743665850855291e-08, -1.3097337306851424e-09, 1.8380666938832775e-09,
    ),
)

#: erfinv y = y s (c0 + c1 t + ...) for s = sqrt(w), t linear in 1 / s from -1 where w is largest to 1 for w = 8.
_ERFINV_FAR = Coefficients(
    float32=(
        0.9647799, -0.025684265, 0.0006016708, 0.0013455964, -0.00026347616, 6.948146e-05, 5.4044525e-05,
        7.902421e-05, 1.0354683e-05, -2.7654962e-05, -8.219524e-06, 4.1779076e-06,
    ),
    float64=(
        0.9709695448950807, -0.03190878875215276, -0.0007201492663287784, 0.003115360057860954,
        -0.0007978138187744848, 0.00020811436453390918, -7.924120323912107e-05, 6.233972168291917e-05,
        3.4650496014341507e-05, 0.00012280403735805882, 0.00012552763033680698, 1.9173769274224506e-05,
        -0.0002476206479854743, -0.00033142024119333334, 0.0001491856337414198, 0.0007562574248643817,
        0.00017771740062795448, -0.0012949962624339752, -0.0007551733651446853, 0.0020281198332565333,
        0.0015815761778539565, -0.0029910611615554398, -0.0025670082910377993, 0.004035853635757142,
        0.0034519962394336497, -0.004762083576652157, -0.0038627706738775143, 0.004714194257419126,
        0.0035449630921913985, -0.0037764263143834427, -0.002608484776129143, 0.002361748181165968,
        0.0014933391590466122, -0.0011037434576286335, -0.0006378292994233513, 0.00036133708260546466,
        0.00019043955790034206, -7.376916475800365e-05, -3.531732536777584e-05, 7.063073831216391e-06,
        3.047463187765906e-06,
    ),
)

#: The largest w of the last expansion, above that of the smallest number in each format.
_HIGHEST = {32: 104.0, 64: 745.0}


def erfcx(x: Value) -> Value:
    """e^(x^2) erfc(x), which is 2 e^(x^2) - erfcx(-x) for negative x."""
    size = absolute(x)
    result = polynomial(1 - 7.5 / (size + 3.75), _ERFCX) / (1 + 2 * size)
    square = x * x
    power = polynomials.exp(square)
    power = select(square < 800, fma(product_rest(x, x, square), power, power), power)
    return select(x < 0, 2 * power - result, result)


def erfinv(x: Value) -> Value:
    """The number whose error function is x."""
    size = absolute(x)
    return copysign(_erfinv(size, 1 - size), x)


def ndtri(p: Value) -> Value:
    """The number below which a standard normal variable lies with probability p."""
    tail = 2 * select(p < 0.5, p, 1 - p)
    return copysign(math.sqrt(2) * _erfinv(1 - tail, tail), p - 0.5)


def _erfinv(y: Value, left: Value) -> Value:
    """erfinv y for y from 0 to 1, given 1 - y."""
    w = -polynomials.log(left * (1 + y))
    s = _sqrt(w)
    nearest, farthest = 1 / math.sqrt(8), 1 / math.sqrt(_HIGHEST[y.size])
    t = (2 / s - (nearest + farthest)) * (1 / (nearest - farthest))
    far = s * polynomial(t, _ERFINV_FAR)
    return select(left == 0, math.inf, y * select(w < 8, polynomial(0.25 * w - 1, _ERFINV_NEAR), far))
