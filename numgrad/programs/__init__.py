"""Compiled programs: calls recorded once, as the kernels that they launch, and replayed without Python in between.

A first call is recorded (``capture``): ``environment`` finds the objects that the function reaches, by the
``referenced_names`` in its code and the parts of each object (``object_parts``), each with its source (``sources``) and
of a class that guards can compare (``object_kinds``).  ``recorder`` records the work on memory as
``recorded_steps``.  ``snapshots`` and ``side_effects`` find the changes that the call has made, and ``attached`` the
effects of hooks and graphs.

The program is made from these: ``memory_plan`` places its blocks, ``linked`` has the machine code, or
``device_program`` the launches of a GPU, and ``program`` generates the function that replays call.  ``signatures`` look
programs up, and ``guards``, which combine ``conditions`` on the environment and on arguments (``overlaps``), allow a
replay. ``numbers`` become arguments.  ``compiled`` is the function that users call.

Backward is in ``differentiation`` and ``node``, with ``backward_operands`` that lie elsewhere in each call.
``standalone`` programs are for ``numba_function`` and ``saving``.
"""
