import CarillonPostgres

/// Whether the database went back to an older state of itself, as after restoring a backup.
struct WALState: Sendable {
    /// The position that was read last.
    private(set) var last: WALPosition?

    /// - Parameter known: The last position when this one was asked for. If another one was read meanwhile, it is not known
    ///   which is newer.
    /// - Returns: The earlier position, if the log has been shortened or continued elsewhere since.
    mutating func saw(_ wal: WALPosition, since known: WALPosition?) -> WALPosition? {
        guard known == last else { return nil }
        defer { last = wal }
        guard let known, known.cluster == wal.cluster, known.timeline != wal.timeline || wal.isShorter(than: known)
        else { return nil }
        return known
    }
}
