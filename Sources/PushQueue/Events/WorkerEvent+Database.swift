import CarillonPostgres
import CarillonText

/// - Parameters:
///   - suppressed: How many errors of the same kind were not logged before this one.
///   - holders: Those of the lock that can be seen.
extension WorkerEvent {
    static func databaseLost(_ reason: String) -> Self {
        let sentence =
            "The connection to the database was lost; pushes that were sent will be settled when it is back."
        return Self(.databaseLost, .warning, sentence)
            .with(["reason": reason]).counted { $0.isConnected = false }
    }

    static func databaseSilent(_ server: ServerAddress, for time: Duration) -> Self {
        let sentence =
            "The database accepts statements but has answered nothing for \(DurationText.write(time)): its connections are closed, and other hosts are tried first."
        return Self(.databaseSilent, .warning, sentence).with(["host": server.host, "port": server.port])
    }

    static func databaseAway(_ error: String, suppressed: Int) -> Self {
        Self(.databaseAway, .warning, "The database \(suppressed > 0 ? "still " : "")cannot be reached; trying again.")
            .with(["error": error]).with(suppressed > 0 ? ["more_since_last": suppressed] : [:])
    }

    static let databaseBack = Self(.databaseBack, .info, "The database is back.")

    /// The WAL of another timeline may be longer by now, although it lacked the end of the earlier one.
    static func databaseWentBack(from earlier: WALPosition, to wal: WALPosition) -> Self {
        let isCertain = wal.isShorter(than: earlier)
        let cause = "a backup was restored, or a standby was promoted"
        let sentence =
            isCertain
            ? "The database is in an older state than before: \(cause) that lacked the last changes. What was sent since that state may be sent again; docs/backup.md says what to do."
            : "The database is on another timeline: \(cause). If it lacked the last changes, what was sent since may be sent again."
        return Self(.databaseWentBack, isCertain ? .error : .warning, sentence)
            .with(["timeline": wal.timeline, "lsn": wal.text, "earlier_timeline": earlier.timeline])
            .with(["earlier_lsn": earlier.text])
    }

    static func databaseError(_ error: String, suppressed: Int) -> Self {
        let what = suppressed > 0 ? "Statements keep failing" : "A statement failed"
        return Self(.databaseError, .warning, "\(what) and will be tried again.")
            .with(["error": error]).with(suppressed > 0 ? ["more_since_last": suppressed] : [:])
    }

    static func lockMet(_ error: String, suppressed: Int, holders: [LockHolder]) -> Self {
        Self(.lockMet, .warning, "A statement timed out on a lock that another session holds, and will be tried again.")
            .with(["error": error, "more_since_last": suppressed, "locked_by": holders.map(\.sentence)])
    }

    static let maintained = Self(.maintained, .debug, "Maintenance has succeeded.")

    static func maintenanceFailed(step: String, error: String, holders: [LockHolder]) -> Self {
        let how = holders.isEmpty ? "failed" : "failed on a lock that another session holds,"
        return Self(.maintenanceFailed, .warning, "A maintenance step \(how) and will be tried again.")
            .with(["step": step, "error": error]).with(holders.isEmpty ? [:] : ["locked_by": holders.map(\.sentence)])
    }
}
