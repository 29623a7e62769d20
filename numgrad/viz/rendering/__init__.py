"""Layout and output of pictures: SVG and Graphviz' formats, Mermaid, text."""
