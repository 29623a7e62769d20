"""How a picture is laid out and written: SVG and what Graphviz makes of it, Mermaid, text."""
