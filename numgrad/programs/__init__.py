"""Whole programs compiled: recorded once, as the kernels that they launch, and replayed without Python between.

``recorder`` records what a call does with memory, as ``steps``; ``surroundings`` finds what its function reaches, in
``places`` that its code ``mentions``, of classes that are ``known``; ``attached`` tells of hooks, and ``capture``
compares before and after, in ``turns``, where ``counters`` may have moved on and results have ``bases``.  ``plan``
gives memory its places, ``linked`` has the machine code, or ``device_program`` the launches of a GPU, and ``program``
calls it.  ``signatures``, ``guards`` and ``overlaps`` say when that is right, ``numbers`` become arguments (calls that
show that they cannot need ``undoing``), and ``compiled`` is what users call.  Backward is in ``differentiation`` and
``node``, its ``gradients`` lie elsewhere each time, and ``aftermath`` is what it has done besides.  ``standalone``
programs are for ``numba_function`` and ``saving``.
"""
