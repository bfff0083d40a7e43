-- Version 3: the series of jobs as rows, which are kept while a job runs. What an earlier program kept
-- stands in the results.

CREATE TABLE intervals (
    step_id     INTEGER NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    point       INTEGER NOT NULL,                    -- position of the job's point in the step, from 0
    position    INTEGER NOT NULL,                    -- order within the series, from 0
    start_ns    ANY     NOT NULL,                    -- from the start of the measured window
    length_ns   ANY     NOT NULL,
    read_ios    ANY     NOT NULL,
    read_bytes  ANY     NOT NULL,
    read_lat    TEXT,                                -- JSON: histogram of latencies; NULL without an I/O
    write_ios   ANY     NOT NULL,
    write_bytes ANY     NOT NULL,
    write_lat   TEXT,
    trim_ios    ANY     NOT NULL,
    trim_bytes  ANY     NOT NULL,
    trim_lat    TEXT,
    PRIMARY KEY (step_id, point, position)
) STRICT, WITHOUT ROWID;

-- One row is an interval of a job at a point.
CREATE VIEW series AS
SELECT s.run_id AS run,
       p.drive_id, p.suite, p.workload, p.iodepth, p.numjobs, p.threads, p.pass,
       i.start_ns, i.length_ns,
       i.read_ios, i.read_bytes, json_extract(i.read_lat, '$.max_ns') AS read_max_ns,
       i.write_ios, i.write_bytes, json_extract(i.write_lat, '$.max_ns') AS write_max_ns,
       i.trim_ios, i.trim_bytes, json_extract(i.trim_lat, '$.max_ns') AS trim_max_ns,
       p.state, p.origin AS provenance
FROM intervals i
JOIN steps s ON s.id = i.step_id
JOIN points p ON p.step_id = s.id AND p.position = i.point
ORDER BY s.run_id, s.step, s.round, i.point, i.position;
