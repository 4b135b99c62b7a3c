import CarillonPostgres

/// Paused apps with consecutive ids, which looks skip.
package struct PausedRange: Hashable, Decodable, Sendable {
    /// The longest ranges of paused apps.
    static let statement = Statement(
        "paused_ranges",
        """
        SELECT min(p.id) AS first, max(p.id) AS last FROM (
            SELECT a.id, a.id - row_number() OVER (ORDER BY a.id) AS range FROM carillon.apps a WHERE a.paused
        ) AS p
        GROUP BY p.range HAVING count(*) > 3 ORDER BY count(*) DESC LIMIT 100
        """
    )

    let first: Int32
    let last: Int32

    func contains(_ app: Int32) -> Bool { first <= app && app <= last }
}
