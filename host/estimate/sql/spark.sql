-- Counts of releases in Spark: what `undertone count` writes, out of the bytes.
--
-- `releases` is a table or view with the 24 bytes of each release in the column `release`, a BINARY. In Python, from Parquet:
--     spark.read.parquet('releases.parquet').createOrReplaceTempView('releases')
-- of hexadecimal digits:
--     spark.read.json('releases.jsonl').selectExpr('* EXCEPT (release)', 'unhex(release) AS release')
--         .createOrReplaceTempView('releases')
-- and of raw records:
--     spark.sparkContext.binaryRecords('releases.raw', 24).map(lambda r: (r,)).toDF('release BINARY')
--         .createOrReplaceTempView('releases')
--
-- For slices, add their columns at its four marks. Rows are grouped by their bytes first, so that each
-- different release is parsed once. The query's own names end in `_of_undertone`; a slice with any other name keeps
-- its values. Rename a slice that is called like a column of the result: counts need each name once.
WITH grouped AS (
    SELECT release, /* slices, */ count(*) AS count_of_undertone
    FROM releases
    WHERE octet_length(release) = 24
    GROUP BY release /* , slices */
),
digits AS (
    SELECT hex(release) AS hex_of_undertone, * FROM grouped
),
fields AS (
    SELECT
        substr(hex_of_undertone, 1, 8) AS start_of_undertone,
        CAST(conv(substr(hex_of_undertone, 9, 2), 16, 10) AS INT) AS mechanism_of_undertone,
        CAST(conv(substr(hex_of_undertone, 11, 2), 16, 10) AS INT) AS rule_of_undertone,
        CAST(conv(substr(hex_of_undertone, 15, 2) || substr(hex_of_undertone, 13, 2), 16, 10) AS INT)
            AS order_of_undertone,
        CAST(conv(substr(hex_of_undertone, 23, 2) || substr(hex_of_undertone, 21, 2)
            || substr(hex_of_undertone, 19, 2) || substr(hex_of_undertone, 17, 2), 16, 10) AS BIGINT)
            AS micro_of_undertone,
        CAST(conv(substr(hex_of_undertone, 31, 2) || substr(hex_of_undertone, 29, 2)
            || substr(hex_of_undertone, 27, 2) || substr(hex_of_undertone, 25, 2), 16, 10) AS BIGINT)
            AS outcome_of_undertone,
        lower(substr(hex_of_undertone, 33, 16)) AS pack_of_undertone,
        *
    FROM digits
)
SELECT
    pack_of_undertone AS pack, mechanism_of_undertone AS mechanism, rule_of_undertone AS rule,
    CAST(CAST(micro_of_undertone AS DECIMAL(18, 6)) / 1000000 AS DECIMAL(10, 6)) AS epsilon,
    order_of_undertone AS `order`, /* slices, */ outcome_of_undertone AS outcome, count_of_undertone AS count
FROM fields
WHERE start_of_undertone = '55545201'
    AND (mechanism_of_undertone IN (1, 2) AND rule_of_undertone IN (1, 2) AND order_of_undertone = 0
        OR mechanism_of_undertone IN (7, 11) AND rule_of_undertone = 2 AND order_of_undertone = 0
        -- An order that is not prime is not looked for here.
        OR mechanism_of_undertone IN (8, 12) AND rule_of_undertone = 2 AND order_of_undertone >= 2
        -- A drawn sentence, whose order is its places; and an answer to a form, whose order 1 is
        -- randomised response.
        OR mechanism_of_undertone IN (9, 10) AND rule_of_undertone = 2 AND order_of_undertone >= 1)
    AND micro_of_undertone BETWEEN 1 AND 1000000000
ORDER BY pack_of_undertone, mechanism_of_undertone, rule_of_undertone, order_of_undertone, micro_of_undertone,
    /* slices, */ outcome_of_undertone
