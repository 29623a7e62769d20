"""The same elements in other shapes and places: views, parts, joins, arrangements."""
