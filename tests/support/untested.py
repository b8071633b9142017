"""What the skipped tests of a run leave untested on this machine."""

import shutil

# Why tests are skipped here, what that leaves untested, and what adds it to a Debian or Ubuntu.
NOT_HERE = (
    ("does not allow L3", "isolation L3", "bubblewrap"),
    ("no chromium here", "the site in Chromium", "chromium"),
    ("no w3m here", "the site in a text browser", "w3m"),
)


def untested(reasons: list[str]) -> list[str]:
    """Return lines that say what the skipped tests leave untested, and the one command that adds
    it.
    """
    counts = {what: sum(text in reason for reason in reasons) for text, what, _ in NOT_HERE}
    packages = [package for _, what, package in NOT_HERE if counts[what]]
    if not packages:
        return []
    parts = [f"{what} ({count} test{'s' * (count > 1)})" for what, count in counts.items() if count]
    absent = [
        package
        for package in packages
        if not shutil.which({"bubblewrap": "bwrap"}.get(package, package))
    ]
    commands = [f"sudo apt-get install --yes {' '.join(absent)}"] if absent else []
    if "bubblewrap" in packages and "bubblewrap" not in absent:
        commands.append("sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0")
    return [f"Not tested here: {', '.join(parts)}.", f"This adds it: {' && '.join(commands)}"]
