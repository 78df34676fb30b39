"""`file_show`: a file of the workspace for the person to look at, kept as it is now.

A model that reads a PDF or a picture gets nothing from it. So the page shows it, and the model is
told that it is shown.
"""

from __future__ import annotations

from callblocks.model.shown import format_size
from callblocks.runtime.files.root import Root
from callblocks.toolkits.files import PathText
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry

__all__ = ("demo_tools",)


def demo_tools(root: Root) -> Registry:
    """The tools that only the demo has."""

    @tool(read_only=True)
    def file_show(path: PathText, context: Context) -> str:
        """Show a file of the workspace to the person: a picture, a PDF, a table, a text.

        Args:
            path: the file, from the workspace down, such as charts/sales.pdf
        """
        content = root.read(path)
        context.keep(path.rpartition("/")[2], content)
        return f"{path} is shown, {format_size(len(content))}"

    return Registry([file_show])
