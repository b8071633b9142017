"""Which package each module is of, by the RECORD files: under another name, or in a namespace that
several packages share.
"""

from compat.results.record import involved
from compat.run.installed import Distribution, renamed_modules
from compat.run.outcome import parse_outcome

PROTOBUF = ("google/__init__.py", "google/protobuf/__init__.py", "google/_upb/_message.abi3.so")
AUTH = ("google/__init__.py", "google/auth/__init__.py", "google/oauth2/credentials.py")
PROTOS = ("google/api/http_pb2.py", "google/rpc/code_pb2.py", "google/rpc/context/a_pb2.py")
STORAGE = ("google/cloud/storage/__init__.py", "google/cloud/storage/blob.py")
CORE = ("google/cloud/client/__init__.py", "google/cloud/version.py")


def held(**files: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return renamed_modules(
        Distribution(name.replace("_", "-"), "1.0", dict.fromkeys(paths, ""))
        for name, paths in files.items()
    )


def test_a_module_of_another_name_is_of_its_package() -> None:
    assert held(scikit_learn=("sklearn/__init__.py", "sklearn/base.py"), six=("six.py",)) == (
        ("sklearn", "scikit-learn"),
    )


def test_what_lies_in_a_shared_namespace_is_of_the_one_that_brings_it() -> None:
    owners = dict(held(protobuf=PROTOBUF, google_auth=AUTH, googleapis_common_protos=PROTOS))
    assert owners == {
        "google": "google",
        "google._upb": "protobuf",
        "google.api": "googleapis-common-protos",
        "google.auth": "google-auth",
        "google.oauth2": "google-auth",
        "google.protobuf": "protobuf",
        "google.rpc": "googleapis-common-protos",
    }


def test_a_namespace_in_a_namespace_is_looked_into() -> None:
    owners = dict(held(google_cloud_storage=STORAGE, google_cloud_core=CORE, protobuf=PROTOBUF))
    assert owners["google.cloud.storage"] == "google-cloud-storage"
    assert owners["google.cloud.version"] == "google-cloud-core"
    assert "google.cloud" not in owners


def test_two_packages_with_the_same_modules_leave_it_open() -> None:
    same = ("demo_ops/__init__.py", "demo_ops/kernel.py")
    assert held(demo=same, demo_nightly=same) == (("demo_ops", "demo_ops"),)


def test_a_failure_in_generated_code_speaks_of_what_it_runs_on() -> None:
    owners = dict(held(protobuf=PROTOBUF, google_auth=AUTH, googleapis_common_protos=PROTOS))
    outcome = parse_outcome("import-fail:type-error(google/protobuf/descriptor.py:561)")
    assert involved(outcome, ("protobuf", "demo"), owners) == ("protobuf",)
