import CarillonPostgres

/// Registrations that are written together.
package struct TokenBatch: Sendable {
    /// Few enough for short locks, many enough that the cost of a transaction does not matter.
    package static let usualSize = 50_000

    private(set) var rows: CopyRows

    package init() { rows = CopyRows(capacity: 0) }

    package var count: Int { rows.count }

    /// - Parameters:
    ///   - token: hex digits in lower case.
    ///   - lastUpdate: microseconds since 1970; none means now.
    ///   - owner: UTF-8 without a NUL.
    ///   - kind: none keeps the present kind, and means a device if the token is new.
    package mutating func append(
        token: ArraySlice<UInt8>,
        lastUpdate: Int64?,
        owner: ArraySlice<UInt8>?,
        kind: TokenKind? = nil
    ) {
        let place = Int32(truncatingIfNeeded: count)
        rows.begin(columns: 5)
        rows.append(place)
        rows.append(text: token)
        rows.append(timestamp: lastUpdate)
        rows.append(text: owner)
        rows.append(text: kind.map { Array($0.rawValue.utf8)[...] })
    }
}
