"""The program API: loops in an asynchronous context, data sources, what is released, and what is saved."""

import csv
import inspect

import numpy as np
import pytest
import tensorflow_federated as tff
from api import dtype, installed, ordered, run_async
from one_round import datasets, trained


async def finished(value):
    """Return a value, awaited if it is to be: the methods of this API are coroutines from 0.22 on."""
    return await value if inspect.isawaitable(value) else value


async def released(manager, value, type_signature, key):
    """Release a value: with its type in the releases that ask for it, 0.29 to 0.71."""
    typed = "type_signature" in inspect.signature(manager.release).parameters
    await finished(manager.release(*((value, type_signature, key) if typed else (value, key))))


async def versions_of(manager):
    """Return the versions that a state manager holds: `versions` until 0.21, `get_versions` since."""
    return await finished((manager.get_versions if hasattr(manager, "get_versions") else manager.versions)())


@pytest.mark.capability(
    "program.loop",
    title="A program's loop",
    says="A training loop runs in the native program context; saved, loaded and resumed, it ends in the same state.",
    looks_for=[
        ("tff.program.NativeFederatedContext",),
        ("tff.program.DatasetDataSource",),
        ("tff.program.MemoryReleaseManager",),
        ("tff.program.FileProgramStateManager",),
        ("tff.program.materialize_value",),
    ],
)
def test_a_loop_is_saved_and_resumed(find, request, tmp_path):
    native = find("tff.program.NativeFederatedContext")
    source = find("tff.program.DatasetDataSource")(datasets([[1, 2, 3], [1, 2, 3]]))
    memory = find("tff.program.MemoryReleaseManager")()
    states = find("tff.program.FileProgramStateManager")(str(tmp_path / "states"))
    materialize = find("tff.program.materialize_value")
    context = native(request.getfixturevalue("async_context"))
    train, number = trained(), tff.TensorType(dtype("int32"))

    async def rounds(state, first, last):
        clients = source.iterator()
        for version in range(first, last + 1):
            state = train(state, clients.select(2))
            assert not isinstance(state, (int, np.generic, np.ndarray))
            await released(memory, state, number, version)
            await finished(states.save(state, version))
        return await finished(materialize(state))

    async def program():
        straight = await rounds(np.int32(1), 1, 2)
        loaded = await finished(states.load(2, np.int32(0)))
        return straight, loaded, await rounds(np.int32(loaded), 3, 4)

    expected = [1]
    for _ in range(4):
        expected.append(expected[-1] * 3 + 12)
    with installed(context):
        straight, loaded, resumed = run_async(program())
    assert (int(straight), int(loaded), int(resumed)) == (expected[2], expected[2], expected[4])
    assert [int(plain(value)) for value in memory.values().values()] == expected[1:]


def plain(value):
    """Return a value of a memory release manager without its type, which stands beside it where types are given."""
    return value[0] if isinstance(value, tuple) else value


@pytest.mark.capability(
    "program.data-source",
    title="Data source of datasets",
    says="A data source made of the clients' datasets hands out as many of them as asked for, unchanged.",
    looks_for=[("tff.program.DatasetDataSource",)],
)
def test_a_data_source_hands_out_datasets(find):
    contents = [[1], [2, 3], [4, 5, 6]]
    source = find("tff.program.DatasetDataSource")(datasets(contents))
    assert str(source.federated_type) == "{int32*}@CLIENTS"
    iterator = source.iterator()
    for wanted in (1, 2, 3):
        selected = [[int(number) for number in dataset] for dataset in iterator.select(wanted)]
        assert len(selected) == wanted
        assert all(numbers in contents for numbers in selected)
    with pytest.raises(ValueError, match=r"4|number of"):
        iterator.select(4)


@pytest.mark.capability(
    "program.data-source-distinct",
    title="Distinct clients in a round",
    says="The data source never hands out the same client twice in one round.",
    looks_for=[("tff.program.DatasetDataSource",)],
)
def test_a_data_source_hands_out_distinct_clients(find):
    make = find("tff.program.DatasetDataSource")
    contents = [[number] for number in range(8)]
    iterator = make(datasets(contents)).iterator()
    for _ in range(3):
        selected = sorted(int(next(iter(dataset))) for dataset in iterator.select(8))
        assert selected == list(range(8)), "a client is handed out twice in one round"


@pytest.mark.capability(
    "program.memory-release",
    title="Releases in memory",
    says="Values that a program releases are kept under their keys, in order; a key that comes again is overwritten.",
    looks_for=[("tff.program.MemoryReleaseManager",)],
)
def test_values_are_released_to_memory(find, record_property):
    manager = find("tff.program.MemoryReleaseManager")()
    record_property("spelling", "release({})".format(", ".join(inspect.signature(manager.release).parameters)))
    numbers = tff.StructType([("loss", dtype("float32")), ("count", dtype("int32"))])

    async def program():
        for key, loss in ((1, 0.5), (2, 0.25), (1, 0.75)):
            await released(manager, ordered(loss=np.float32(loss), count=np.int32(key)), numbers, key)

    run_async(program())
    values = [(key, plain(value)) for key, value in manager.values().items()]
    assert [(key, float(value["loss"]), int(value["count"])) for key, value in values] == [(1, 0.75, 1), (2, 0.25, 2)]


@pytest.mark.capability(
    "program.csv-release",
    title="Releases in a CSV file",
    says="Values are written to a CSV file round by round; a round released again replaces itself and all later ones.",
    looks_for=[("tff.program.CSVFileReleaseManager",)],
)
def test_values_are_released_to_a_csv_file(find, tmp_path):
    path = tmp_path / "metrics.csv"
    manager = find("tff.program.CSVFileReleaseManager")(str(path), key_fieldname="round")
    numbers = tff.StructType([("loss", dtype("float32")), ("weights", tff.TensorType(dtype("int32"), [2]))])

    async def program():
        for key, loss in ((1, 1.0), (2, 0.5), (3, 0.25), (2, 0.75)):
            await released(manager, ordered(loss=np.float32(loss), weights=np.array([key, 7], np.int32)), numbers, key)

    run_async(program())
    with open(str(path)) as lines:
        rows = [(row["round"], row["loss"], row["weights"]) for row in csv.DictReader(lines)]
    assert rows == [("1", "1.0", "[1, 7]"), ("2", "0.75", "[2, 7]")]


@pytest.mark.capability(
    "program.state-manager",
    title="Saved program state",
    says="The state of a program is saved in versions, of which the first and the newest are kept, and loaded again.",
    looks_for=[
        ("tff.program.FileProgramStateManager",),
        ("tff.program.ProgramStateNotFoundError", "tff.program.ProgramStateManagerStateNotFoundError"),
        ("tff.program.ProgramStateExistsError", "tff.program.ProgramStateManagerStateAlreadyExistsError"),
    ],
)
def test_program_state_is_saved_in_versions(find, tmp_path):
    missing = find("tff.program.ProgramStateNotFoundError")
    existing = find("tff.program.ProgramStateExistsError")
    manager = find("tff.program.FileProgramStateManager")(str(tmp_path / "states"), keep_total=3)
    empty = ordered(weights=np.zeros([2, 2], np.float32), round=np.int32(0))

    def state(number):
        return ordered(weights=np.full([2, 2], number / 2, np.float32), round=np.int32(number))

    def same(found, number):
        return np.array_equal(found["weights"], state(number)["weights"]) and int(found["round"]) == number

    async def program():
        assert await versions_of(manager) is None
        for number in range(1, 6):
            await finished(manager.save(state(number), number))
        assert await versions_of(manager) == [1, 4, 5]
        assert same(await finished(manager.load(1, empty)), 1)
        assert same(await finished(manager.load(4, empty)), 4)
        latest, version = await finished(manager.load_latest(empty))
        assert version == 5
        assert same(latest, 5)
        with pytest.raises(missing):
            await finished(manager.load(2, empty))
        with pytest.raises(existing):
            await finished(manager.save(state(5), 5))

    run_async(program())
