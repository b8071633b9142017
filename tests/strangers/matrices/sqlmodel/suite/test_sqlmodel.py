"""What users of SQLModel count on, in every release of the matrix."""

import pytest


@pytest.mark.capability("select", title="Select", says="A row that was added is selected.")
def test_a_row_that_was_added_is_selected():
    from sqlmodel import Field, Session, SQLModel, create_engine, select

    class Hero(SQLModel, table=True):
        name: str = Field(primary_key=True)

    engine = create_engine("sqlite://")
    SQLModel.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Hero(name="ada"))
        session.commit()
        assert session.exec(select(Hero)).one().name == "ada"
