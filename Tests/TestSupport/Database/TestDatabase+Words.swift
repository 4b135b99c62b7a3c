extension TestDatabase {
    /// The words of a closed set: the texts of lower-case letters and spaces in a function or a constraint.
    package func words(in name: String) async throws -> Set<String> {
        let words = try await value(
            """
            SELECT string_agg(w[1], ',')
            FROM (
                SELECT p.prosrc FROM pg_proc p WHERE p.oid = to_regproc('carillon.\(name)')
                UNION ALL
                SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.conname = '\(name)'
            ) AS found (text), regexp_matches(found.text, '''([a-z ]+)''', 'g') AS w
            """
        )
        return Set((words ?? "").split(separator: ",").map(String.init))
    }
}
