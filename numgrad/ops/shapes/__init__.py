"""Tensors in other shapes and orders: views, parts, joins, arrangements."""
