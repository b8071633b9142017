"""A repository on this machine and on GitHub. In come measured files and names; out go commits, pushes and answers."""
