import IO

/// Where scans of a lane start.
///
/// Claimed rows stay in the index until vacuum removes them, which it cannot while somebody's transaction is long. A
/// floor keeps scans from walking over all of them. It is a hint: rows that were committed late, with an id below it,
/// are found by a rare sweep from the beginning. It rises only behind a good number of rows, and never to the newest of
/// them, so that transactions which end in another order than they began are seen at once.
///
/// Of a lane with plenty of rows, most claims begin closer still, at the rows that were claimed last: between the floor
/// and them lies what was claimed within a quarter of a second, which may be twenty times what one claim takes.
struct LaneFloor: Sendable {
    /// The least number of rows between two floors: fewer are walked over in no time.
    static let leastRows = 4096
    /// How long a row may take from the drawing of its id to its commit without having to wait for a sweep.
    static let leastAge = Duration.milliseconds(250)

    /// How often a claim from the midst of a lane begins at the floor nevertheless.
    static let leastPause = Duration.milliseconds(100)

    /// The first id to look at.
    private(set) var id = Int64.min
    /// The first of the rows that were claimed last.
    private var tip = Int64.min
    private var beganAt: MonotonicInstant?
    private var candidate: (id: Int64, since: MonotonicInstant)?
    private var rows = 0

    var isLow: Bool { id == .min }

    /// Where to begin a claim from a lane that has more rows than one takes.
    mutating func amidst(at now: MonotonicInstant) -> Int64 {
        if let beganAt, now - beganAt < Self.leastPause { return max(id, tip) }
        self.beganAt = now
        return id
    }

    /// Rows were claimed, the first of them with that id.
    mutating func claimed(first: Int64, rows: Int, at now: MonotonicInstant) {
        tip = first
        guard let candidate else {
            self.candidate = (first, now)
            self.rows = rows
            return
        }
        self.rows += rows
        guard self.rows >= Self.leastRows, now - candidate.since >= Self.leastAge else { return }
        id = max(id, candidate.id)
        self.candidate = (first, now)
        self.rows = 0
    }

    /// A row came back, or was found, below.
    mutating func lower(to id: Int64) {
        self.id = min(self.id, id)
        tip = min(tip, id)
        if let candidate, candidate.id > id { self.candidate = nil }
    }
}
