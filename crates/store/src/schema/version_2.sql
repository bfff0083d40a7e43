-- Version 2: where the time of requests went, as rows. A view, as the values stand in the results: one
-- row is a stage of a class of requests at a point, in the order of the path.

CREATE VIEW stages AS
SELECT s.run_id AS run,
       p.drive_id, p.suite, p.workload, p.iodepth, p.numjobs, p.threads, p.pass,
       json_extract(class.value, '$.class') AS class,
       json_extract(class.value, '$.ios') AS ios,               -- requests that were followed
       json_extract(stage.value, '$.stage') AS stage,
       json_extract(stage.value, '$.mean_ns') AS mean_ns,
       p.state, p.origin AS provenance
FROM job_results j
JOIN points p ON p.id = j.point_id
JOIN steps s ON s.id = p.step_id
JOIN json_each(j.result, '$.classes') class
JOIN json_each(class.value, '$.stages') stage
ORDER BY s.run_id, s.step, s.round, p.position, class.key, stage.key;
