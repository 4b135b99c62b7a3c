extension TestDatabase {
    /// Drops the partitions of the history, as after days in which no worker ran.
    package static let forgetPartitions = """
        DO $$ DECLARE t text; BEGIN
            FOR t IN SELECT relname FROM pg_class
                WHERE relkind = 'r' AND relname ~ '^(results|failures|failed_messages|events|sent_pushes)_2'
            LOOP EXECUTE format('DROP TABLE carillon.%I', t); END LOOP;
        END $$
        """
    /// Counts which of the next four days have a partition. In the last two hours of a day, rows without one share that of
    /// tomorrow.
    package static let coveredDays = """
        SELECT count(*) FROM generate_series(0, 3) i,
            LATERAL (SELECT ((now() AT TIME ZONE 'UTC')::date + i)::timestamp AT TIME ZONE 'UTC' AS day) d
        JOIN carillon.partitions('results') p ON p.lower_bound <= d.day AND p.upper_bound > d.day
        """
}
