"""Compiled programs: a call is recorded once, as the kernels that it launches, and then replayed without Python.

The life of a compiled step, with the modules in the order in which it meets them:

1. *Call.*  ``compiled`` is the function that users call.  It computes the signature of the arguments (``signatures``),
   and runs the first program of that signature whose guard holds.  If there is none, it records the call.
2. *Search.*  ``environment`` begins with the function, uses the ``referenced_names`` in its code, and follows the
   parts of objects (``object_parts``) to everything that the call may read, with the ``sources`` where it is
   found.  Each class belongs to one of the ``object_kinds``: objects whose changes guards cannot detect end the
   program.
3. *Recording.*  ``capture`` calls the function.  Its arguments with a graph end in a graph input (``node``) meanwhile.
   ``recorder`` notes all work on memory as ``recorded_steps``, and ``captured`` is the record of the call.
4. *Comparison.*  ``capture`` compares tensors, memory and environment with their states before the call;
   ``side_effects`` are changes that replays repeat, and ``attached`` finds hooks and graphs that they cannot
   repeat.  A call that has changed what it reads is not made a program; the next one is recorded instead.
5. *Guard.*  ``guards`` writes down, as ``conditions``, all that must be as it was before the call.
6. *Program.*  ``memory_plan`` places the blocks, ``linked`` contains the machine code, or ``device_program`` the
   launches of a GPU, and ``program`` generates the function that replays call.
7. *Backward.*  If results require gradients, ``differentiation`` makes the program only at the first backward, which
   it records as a second program, with ``backward_operands`` for memory that differs from call to call.  Cheap values
   are computed again instead of saved (``recomputation``).
8. *Other numbers.*  At the second value of a number among the arguments, ``numbers`` makes it an argument of the
   program.
9. *Improvement.*  A program that has run three times is improved in the ``background``: ``groups`` of kernels run
   tile by tile (``tiled``), and pointwise kernels are merged (``fused``, ``merged_launches`` on a GPU).

``standalone`` programs need no function: ``numba_function`` makes functions for Numba's code of them, and ``saving``
writes them to files.  ``trees`` are nested arguments and results, ``checking`` compares replays with the function,
``recording_lock`` keeps other threads from recording, and ``block_names`` names memory for those who look inside.
"""
