"""The one setting of the shell that notebooks change; it has no effect in a run."""


class InteractiveShell:
    """Holder of `ast_node_interactivity`."""

    ast_node_interactivity = 'last_expr'
