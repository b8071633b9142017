"""The `advise` room's choice of what a message says that is about a matrix, and not about the code
of who pasted it or about bystanders.
"""

import re
from collections.abc import Callable

from compat.advise.message import Complaint, Message, flat
from compat.advise.module_names import is_own_name

# What a hosted notebook brings itself: it asks for exact versions, and works with others, as
# https://github.com/googlecolab/colabtools/issues/2604 and many more tell.
_HOSTS = frozenset(("google-colab", "datascience"))


def is_about_matrix(
    complaint: Complaint, message: Message, is_known: Callable[[str], bool], speaks: bool
) -> bool:
    """Return whether a complaint is about a matrix: who asks is of it, or what is at fault.
    `is_known` tells what the matrix knows, `speaks` whether the message names its subject.

    What is certain is, and what this Python cannot parse of an installed package. A name that
    Python does not find must be of a package that the matrix knows, or of one that is installed:
    else it is of the user's own code, as it is where a file of the user's own has that name.
    """
    is_of_name = complaint.cause in ("missing-module", "missing-attribute")
    if is_of_name and not complaint.is_certain and complaint.package in message.own_files:
        return False
    who = complaint.of or complaint.package
    if complaint.is_certain or complaint.cause == "requires-python":
        return True
    is_sure = complaint.cause in ("missing-module", "syntax") or not complaint.of
    if is_sure and who in message.installed:
        return True
    if complaint.is_part and _is_of_package(complaint.package, message):
        return True
    if complaint.cause == "conflict" and complaint.of in _HOSTS:
        return False
    if complaint.cause == "conflict" and not speaks and len(_conflicting(message)) == 1:
        return True
    if complaint.cause == "version-guard":
        named = {complaint.package, complaint.of} - {""}
        return any(is_known(name) or _is_listed(name, message) for name in named)
    if complaint.of or is_of_name:
        # Who tells a version of what is asked does not ask code of one's own.
        return is_known(who) or (who == complaint.package and who in message.versions)
    return speaks or is_known(who)


def _is_of_package(name: str, message: Message) -> bool:
    """Whether a module of which a part is missing is of a package: nothing in the message, nor its
    name, tells that it may be the user's own.
    """
    return not is_own_name(name) and name not in message.own_folders


def _is_listed(name: str, message: Message) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}==\d", flat(message.text)) is not None


def _conflicting(message: Message) -> set[str]:
    """Who asks for what is not there. Of what several ask an installation tells as a notice only:
    most of them are bystanders.
    """
    return {complaint.of for complaint in message.complaints if complaint.cause == "conflict"}
