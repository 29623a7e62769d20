"""Parser and checks of the HTML that notebooks show."""

from html.parser import HTMLParser

VOID = {"br", "hr", "img"}


class Page(HTMLParser):
    """Parsed HTML.

    Attributes:
        text: the visible text.
        elements: (name, attributes, text within) of each element, in the order in which they end.
    """

    def __init__(self, source):
        super().__init__()
        self.elements = []
        self._open = [("", {}, [])]
        self.feed(source)
        self.close()
        assert len(self._open) == 1, f"not closed: {self._open}"
        self.text = "".join(self._open[0][2])

    def handle_starttag(self, name, attributes):
        names = dict(attributes)
        assert name not in ("script", "link", "iframe"), name
        assert not [key for key in names if key == "id" or key.startswith("on")], names
        if name not in VOID:
            self._open.append((name, names, []))

    def handle_endtag(self, name):
        opened, attributes, parts = self._open.pop()
        assert opened == name, f"</{name}> ends <{opened}>"
        text = "".join(parts)
        self.elements.append((name, attributes, text))
        if name != "style":
            self._open[-1][2].append(text)

    def handle_data(self, data):
        self._open[-1][2].append(data)

    def all(self, name):
        """The texts of the elements of this name."""
        return [text for found, _, text in self.elements if found == name]

    def rows(self):
        """The cells of each table row."""
        rows, cells = [], []
        for name, _, text in self.elements:
            if name in ("td", "th"):
                cells.append(text)
            elif name == "tr":
                rows.append(cells)
                cells = []
        return rows


def page_of(thing):
    """Return a notebook's display of an object, as a Page."""
    return Page(thing._repr_html_())
