import CarillonIO

/// The custom push types of the process. A push type is a one-byte index into this list, so that batches copy no text.
struct CustomPushTypes {
    static let limit = 200
    private static let shared = Guarded(Self())

    private var rows: [PushType.Facts] = []

    /// The index of a type, which is added if it is new.
    mutating func place(of row: PushType.Facts) throws(PushError) -> Int {
        if let place = rows.firstIndex(of: row) { return place }
        guard rows.count < Self.limit else {
            throw PushError(
                .invalidMessage,
                "A process can have \(Self.limit) custom push types, and “\(row.name)” is one more."
            )
        }
        rows.append(row)
        return rows.count - 1
    }

    static func sharedPlace(of row: PushType.Facts) throws(PushError) -> Int {
        try shared.withLock { (types) throws(PushError) in try types.place(of: row) }
    }

    static subscript(place: Int) -> PushType.Facts { shared.withLock { $0.rows[place] } }
}
