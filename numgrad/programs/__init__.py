"""Compiled programs: a call is recorded once, as the kernels that it launches, and then replayed without Python.

A first call is recorded (``capture``): ``environment`` uses the ``referenced_names`` in the function's code, and the
parts of objects (``object_parts``), to find the objects that the function reaches, with their ``sources``;
``object_kinds`` tells which of them guards can compare.  ``recorder`` records the work on memory as ``recorded_steps``.
``snapshots`` and ``side_effects`` find the changes that the call has made, and ``attached`` finds hooks and graphs that
affect a replay.

The program is made from these records: ``memory_plan`` places its blocks, ``linked`` contains the machine code, or
``device_program`` the launches of a GPU, and ``program`` generates the function that replays call.  A call finds its
program by its signature (``signatures``).  ``guards`` decide whether the program may be replayed: they combine
``conditions`` on the environment with conditions on the arguments (``overlaps``).  ``numbers`` makes arguments of
numbers.  ``compiled`` is the function that users call.

``differentiation`` and ``node`` implement backward, with ``backward_operands`` for memory that differs from call to
call.  ``numba_function`` and ``saving`` use ``standalone`` programs.
"""
