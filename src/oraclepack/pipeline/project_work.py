"""What follows a run: its open questions as the next pack, its work as issues."""

from pathlib import Path

from oraclepack.pipeline.run_followup import FollowupResult, followup_run
from oraclepack.work.backlog import IssuesPer
from oraclepack.work.publish_issues import PublishRequest, PublishResult, publish_run


class ProjectWork:
    """The work of a project's runs: ask again, publish."""

    def __init__(self, root: Path, github_api_url: str) -> None:
        self._root = root
        self._github_api_url = github_api_url

    def followup(self, run_dir: str, out: str = "", *, force: bool = False) -> FollowupResult:
        """Write a pack that asks the cut-off, blocked and conflicting questions of a run again."""
        return followup_run(run_dir, self._root, out, force=force)

    def publish(
        self,
        repository: str,
        *,
        run_dir: str = "",
        per: str | None = None,
        dry_run: bool = False,
        allow_rehearsal: bool = False,
    ) -> PublishResult:
        """Create or update issues on GitHub; by default for the questions of the newest run."""
        request = PublishRequest(
            repository,
            run_dir,
            IssuesPer(per or IssuesPer.QUESTION),
            self._github_api_url,
            dry_run,
            allow_rehearsal,
        )
        return publish_run(request, self._root)
