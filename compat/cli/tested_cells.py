"""What is known of a matrix from its runs and its kept catalogue, for questions about tested cells
alone.
"""

from compat.results.snapshot import Snapshot, snapshot
from compat.workspace import Workspace


def snapshot_of_runs(workspace: Workspace) -> Snapshot | None:
    """Return the cells that have locks or runs, without the plan: what other cells could be is not
    asked, which halves the time. None for a matrix without a kept catalogue.
    """
    catalogue = workspace.kept_catalogue
    if catalogue is None:
        return None
    digests, runs = workspace.lock_digests, workspace.runs
    return snapshot(workspace.declared, catalogue, (), digests, runs, workspace.context)
