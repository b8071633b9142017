CREATE TABLE cells (
    id TEXT PRIMARY KEY, recipe TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL,
    evidence TEXT NOT NULL,
    outcome TEXT, since TEXT, latest TEXT, stale INTEGER NOT NULL, tested INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    isolation TEXT, planned INTEGER NOT NULL, obstacle TEXT, because TEXT,
    blocked_by TEXT,
    -- How many capabilities pass, fail by the combination, fail in every combination of the
    -- release, need what the index no longer has, are not offered by the release; and in words.
    passing INTEGER NOT NULL, combination INTEGER NOT NULL, release INTEGER NOT NULL,
    gone INTEGER NOT NULL, absent INTEGER NOT NULL, score TEXT NOT NULL
) WITHOUT ROWID;
-- Every cell of the plan, tested or not; `expected` is what tested neighbours let expect of it.
-- Few of many thousand differ, so each row of a view is stored once.
CREATE TABLE plan_kinds (
    id INTEGER PRIMARY KEY, verdict TEXT NOT NULL, evidence TEXT NOT NULL, expected TEXT,
    obstacle TEXT
);
-- Each place, and the kind of its cell of each recipe as a JSON object.
CREATE TABLE plan_recipes (id INTEGER PRIMARY KEY, kinds TEXT NOT NULL);
CREATE TABLE plan_places (place TEXT PRIMARY KEY, recipes INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIEW plan AS
SELECT place || iif(recipe.key = 'fresh', '', '+' || recipe.key) AS cell, recipe.value AS kind
FROM plan_places JOIN plan_recipes ON plan_recipes.id = recipes, json_each(kinds) AS recipe;
CREATE VIEW planned AS
SELECT plan.cell, plan_kinds.verdict, plan_kinds.evidence, plan_kinds.expected, plan_kinds.obstacle
FROM plan JOIN plan_kinds ON plan_kinds.id = plan.kind;
CREATE TABLE coordinates (
    cell TEXT NOT NULL REFERENCES cells (id), axis TEXT NOT NULL, version TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (cell, axis)
) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell TEXT NOT NULL REFERENCES cells (id), started TEXT NOT NULL,
    outcome TEXT NOT NULL,
    counts INTEGER NOT NULL, seconds REAL NOT NULL, isolation TEXT NOT NULL,
    tier TEXT NOT NULL, lock_digest TEXT NOT NULL,
    suite_digest TEXT NOT NULL, answers INTEGER NOT NULL,
    -- A JSON list of numbers, and the set of names that they are of.
    measured TEXT NOT NULL, measures INTEGER NOT NULL
);
-- The results of the capabilities, once for all runs that have the same.
CREATE TABLE results (
    id INTEGER PRIMARY KEY, capability TEXT NOT NULL, status TEXT NOT NULL, cause TEXT,
    subject TEXT, spelling TEXT
);
CREATE TABLE result_sets (
    id INTEGER NOT NULL, result INTEGER NOT NULL, PRIMARY KEY (id, result)
) WITHOUT ROWID;
CREATE VIEW answers AS
SELECT result_sets.id, results.capability, results.status, results.cause, results.subject,
    results.spelling
FROM result_sets JOIN results ON results.id = result_sets.result;
CREATE VIEW capabilities AS
SELECT runs.id AS run, answers.capability, answers.status, answers.cause, answers.subject,
    answers.spelling
FROM runs JOIN answers ON answers.id = runs.answers;
-- What is measured: each set of names once for all runs that measured these, with the place of
-- each name's number in the list of a run.
CREATE TABLE measures (
    id INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,
    better TEXT NOT NULL,
    PRIMARY KEY (id, place)
) WITHOUT ROWID;
CREATE VIEW metrics AS
SELECT runs.id AS run, measures.name, number.value, measures.unit, measures.better
FROM runs, json_each(runs.measured) AS number
JOIN measures ON measures.id = runs.measures AND measures.place = number.key;
-- A test of a helper looks at a file of the suite alone, and says nothing about the subject.
CREATE TABLE suite (capability TEXT PRIMARY KEY, title TEXT, says TEXT,
of_helper INTEGER NOT NULL) WITHOUT ROWID;
