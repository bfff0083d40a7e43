-- Version 1 of the store. Never edited once released: a change is one more file.
--
-- Words (origin, state, status, metric) are those of results.csv. JSON texts are the program's own
-- values; sizes and times in them are texts with a unit. Whole numbers in columns of type ANY are
-- integers up to 2^63 - 1 and decimal texts above. Times of day are UTC, RFC 3339.

CREATE TABLE runs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given twice
    suite_id      TEXT    NOT NULL,
    drive_id      TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    seed          TEXT    NOT NULL,                  -- decimal; a u64 does not fit an SQL integer
    suite         TEXT    NOT NULL,                  -- JSON: the suite as it ran
    provenance    TEXT    NOT NULL,                  -- JSON: program, host, target, state before
    steps_planned INTEGER NOT NULL,
    started       TEXT,                              -- as the run says, where it says
    begun_at      TEXT    NOT NULL,                  -- by the clock of the store
    ended_at      TEXT,
    status        TEXT CHECK (status IN ('done', 'interrupted', 'failed')), -- NULL: no end was recorded
    error         TEXT,                              -- what stopped a failed run
    pid           INTEGER NOT NULL,                  -- the process that began it ...
    pid_started   INTEGER,                           -- ... when it began, in clock ticks since boot ...
    pid_namespace TEXT,
    boot_id       TEXT,                              -- ... of this boot ...
    host          TEXT                               -- ... of this host
) STRICT;

CREATE TABLE steps (
    id           INTEGER PRIMARY KEY,
    run_id       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step         INTEGER NOT NULL,                   -- position in the plan, from 0
    round        INTEGER NOT NULL,                   -- from 1; 0 for a step done in one piece
    title        TEXT    NOT NULL,
    job          TEXT,                               -- JSON: the job, where the step runs one
    progress     TEXT    NOT NULL CHECK (progress IN ('begun', 'committed')),
    begun_at     TEXT    NOT NULL,
    committed_at TEXT,
    state_after  TEXT,                               -- JSON
    remarks      TEXT,                               -- JSON list of texts
    wall_ns      ANY,                                -- wall-clock time it took
    UNIQUE (run_id, step, round),
    CHECK ((progress = 'committed') = (state_after IS NOT NULL AND remarks IS NOT NULL AND wall_ns IS NOT NULL))
) STRICT;

-- A run is in one step at a time.
CREATE UNIQUE INDEX step_in_progress ON steps (run_id) WHERE progress = 'begun';

CREATE TABLE points (
    id           INTEGER PRIMARY KEY,
    step_id      INTEGER NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,                   -- order within the step, from 0
    drive_id     TEXT    NOT NULL,
    suite        TEXT    NOT NULL,
    workload     TEXT    NOT NULL,
    iodepth      INTEGER,
    numjobs      INTEGER,
    threads      INTEGER,
    pass         INTEGER,
    state        TEXT    NOT NULL,                   -- condition of the drive, such as after-fill
    fills        INTEGER NOT NULL,                   -- whole sequential fills in this run before it
    last_fill_bs ANY,                                -- bytes
    origin       TEXT    NOT NULL,
    remarks      TEXT    NOT NULL,                   -- JSON list of texts
    UNIQUE (step_id, position)
) STRICT;

CREATE TABLE metrics (
    id       INTEGER PRIMARY KEY,
    point_id INTEGER NOT NULL REFERENCES points (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,                       -- order within the point, from 0
    name     TEXT    NOT NULL,
    value    REAL    NOT NULL,                       -- in the base unit
    unit     TEXT    NOT NULL,
    low      REAL,                                   -- 95 % interval, where one was computed
    high     REAL,
    samples  ANY     NOT NULL,
    UNIQUE (point_id, position),
    UNIQUE (point_id, name),
    CHECK ((low IS NULL) = (high IS NULL))
) STRICT;

-- Apart from points, so that queries over figures do not read the histograms.
CREATE TABLE job_results (
    point_id INTEGER PRIMARY KEY REFERENCES points (id) ON DELETE CASCADE,
    result   TEXT NOT NULL                           -- JSON: histograms, series, errors, what was granted
) STRICT;

-- The rows of results.csv, with the run in front and the interval behind.
CREATE VIEW results AS
SELECT s.run_id AS run,
       p.drive_id, p.suite, p.workload, p.iodepth, p.numjobs, p.threads, p.pass,
       m.name AS metric, m.value, m.unit, p.state, p.origin AS provenance,
       m.low, m.high, m.samples
FROM metrics m
JOIN points p ON p.id = m.point_id
JOIN steps s ON s.id = p.step_id
ORDER BY s.run_id, s.step, s.round, p.position, m.position;
