import ApplePush
import CarillonIO
package import CarillonPostgres

package struct ClaimRows: Sendable {
    /// A row that was left behind because its pushes did not fit.
    package struct NextRow: Equatable, Sendable {
        package let id: Int64
        package let pushes: Int
    }

    /// Nil if no row fitted.
    package internal(set) var jobs: ClaimedJobs?
    package internal(set) var rows = 0
    /// The lowest id among them.
    package internal(set) var lowest: Int64?
    package internal(set) var next: NextRow?
}

extension ClaimRows {
    /// - Parameter app: Nil if the database has no such app.
    package init(
        _ rows: borrowing Rows,
        _ plan: ClaimPlan,
        app: RoutedApp?,
        installation: (UInt64, UInt64)
    ) throws(PostgresError) {
        let columns = try ClaimColumns(rows)
        let tokens = try rows.byteCount(of: columns.tokens) / Self.bytesOfUsualToken
        var claimRow = rows.count - 1
        while claimRow >= 0, try rows.isNull(claimRow, columns.claim) { claimRow -= 1 }
        var reader: ClaimReader?
        if claimRow >= 0 {
            let claim = ClaimedJobs(
                id: try rows.int64(claimRow, columns.claim),
                app: plan.lane.app,
                lane: plan.lane.number,
                claimedAt: try rows.moment(claimRow, columns.claimedAt).microseconds,
                areQuarantined: try rows.bool(claimRow, columns.quarantined)
            )
            reader = ClaimReader(claim, installation: installation, expecting: tokens / max(1, rows.count - 1))
            try reader?.reserve(for: rows, columns, tokens: tokens)
        }
        for row in rows.indices where row != claimRow {
            let id = try rows.int64(row, columns.id)
            if let pushes = try rows.int64(row, ifUsed: columns.unfitPushes) {
                next = NextRow(id: id, pushes: Int(pushes))
                continue
            }
            guard reader != nil else { throw PostgresError(.unexpectedValue, "a claimed row came without its claim") }
            try reader?.read(rows, row, columns, of: app)
            lowest = min(lowest ?? id, id)
            self.rows += 1
        }
        jobs = reader?.claim
    }

    /// What a token of 64 digits takes in an array, with its length. Room for others is made when they come.
    private static let bytesOfUsualToken = 68
}

extension ClaimReader {
    /// What the rows need: large rows in flight are most of what a worker has in memory, and growing would double it.
    fileprivate mutating func reserve(for rows: borrowing Rows, _ columns: ClaimColumns, tokens: Int)
        throws(PostgresError)
    {
        var bytes = 0
        let stored = [
            columns.tokens, columns.payload, columns.payloads, columns.topic, columns.collapseID, columns.reference,
        ]
        for case let column? in stored { bytes += try rows.byteCount(of: column) }
        reserve(jobs: rows.count, pushes: tokens, bytes: bytes)
    }

    /// A null means the default of its column.
    fileprivate mutating func read(
        _ rows: borrowing Rows,
        _ row: Int,
        _ columns: ClaimColumns,
        of app: RoutedApp?
    ) throws(PostgresError) {
        var reference: ByteRange?
        if let column = columns.reference, try !rows.isNull(row, column) {
            reference = try rows.withBytes(row, column) { store($0) }
        }
        let onUnknown = try rows.string(row, ifUsed: columns.onUnknown)
        let job = ClaimedJobs.Job(
            id: try rows.int64(row, columns.id),
            origin: try rows.int64(row, ifUsed: columns.origin),
            broadcast: try rows.int64(row, ifUsed: columns.broadcast),
            reference: reference,
            createdAt: try rows.moment(row, columns.createdAt).microseconds,
            expiresAt: try rows.moment(row, ifUsed: columns.expiresAt)?.microseconds,
            attempt: try rows.int16(row, ifUsed: columns.attempt) ?? 1,
            mayRepeat: onUnknown == nil
        )
        waited(since: job.createdAt, attempt: job.attempt)
        let priority = try rows.int16(row, ifUsed: columns.priority)
        var pushType: PushType? = .alert
        if let name = try rows.string(row, ifUsed: columns.pushType) {
            pushType = try Self.pushType(named: name, rows, row, columns)
        }
        let topicIsAllowed = try !rows.has(row, columns.topicNotAllowed)
        let usualTopic = app?.topic(for: pushType) ?? []
        try rows.withText(row, columns.topic, else: usualTopic) { (topic: RawSpan) throws(PostgresError) in
            try rows.withText(row, columns.collapseID, else: []) { collapseID in
                begin(
                    job,
                    topic: topic,
                    topicIsAllowed: topicIsAllowed,
                    collapseID: collapseID,
                    priority: priority,
                    pushType: pushType,
                    onUnknown: onUnknown,
                    appIsKnown: app != nil
                )
            }
        }
        if try rows.has(row, columns.mayHaveArrived) { collapse() }
        try readPayload(rows, row, columns)
        try rows.forEachElement(row, columns.tokens) { token in
            if let token { add(token) } else { add(RawSpan()) }
        }
    }

    /// Nil for a type that cannot be sent: one that this version does not know is sent only to a topic that the row names.
    private static func pushType(
        named name: String,
        _ rows: borrowing Rows,
        _ row: Int,
        _ columns: ClaimColumns
    ) throws(PostgresError) -> PushType? {
        if let type = PushType(stored: name) { return type }
        var hasTopic = false
        try rows.withText(row, columns.topic, else: []) { hasTopic = $0.byteCount > 0 }
        return hasTopic ? PushType(unknown: name) : nil
    }

    private mutating func readPayload(
        _ rows: borrowing Rows,
        _ row: Int,
        _ columns: ClaimColumns
    ) throws(PostgresError) {
        let isShared = try rows.has(row, columns.payload)
        guard let payloads = columns.payloads, try !rows.isNull(row, payloads) else {
            if isShared, let payload = columns.payload {
                try rows.withBytes(row, payload) { add(payload: $0) }
            } else {
                add(payload: nil)
            }
            return
        }
        let counts = (try rows.elementCount(row, payloads), try rows.elementCount(row, columns.tokens))
        guard !isShared, counts.0 == counts.1 else {
            refuseMismatch()
            return
        }
        try rows.forEachElement(row, payloads) { add(nextPayload: $0) }
    }
}

extension Rows {
    fileprivate func has(_ row: Int, _ column: Column?) throws(PostgresError) -> Bool {
        guard let column else { return false }
        return try !isNull(row, column)
    }

    fileprivate func int64(_ row: Int, ifUsed column: Column?) throws(PostgresError) -> Int64? {
        guard let column else { return nil }
        return try int64IfPresent(row, column)
    }

    fileprivate func int16(_ row: Int, ifUsed column: Column?) throws(PostgresError) -> Int16? {
        guard let column else { return nil }
        return try int16IfPresent(row, column)
    }

    fileprivate func moment(_ row: Int, ifUsed column: Column?) throws(PostgresError) -> Moment? {
        guard let column else { return nil }
        return try momentIfPresent(row, column)
    }

    fileprivate func string(_ row: Int, ifUsed column: Column?) throws(PostgresError) -> String? {
        guard let column else { return nil }
        return try stringIfPresent(row, column)
    }

    fileprivate func withText(
        _ row: Int,
        _ column: Column?,
        else fallback: [UInt8],
        _ body: (RawSpan) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        if let column, try !isNull(row, column) {
            try withBytes(row, column, body)
        } else {
            // A span of bytes has no padding that could be read uninitialised, which is what makes `bytes` unsafe.
            try body(unsafe fallback.span.bytes)
        }
    }
}
