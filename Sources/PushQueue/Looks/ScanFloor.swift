import CarillonIO

/// Where scans of an index begin, so that they skip the dead entries of rows that were taken.
///
/// Dead entries stay until vacuum removes them, which a long transaction prevents. Most scans begin at the tip, where rows were
/// taken last. Every 100 ms one begins at the floor, which rises to where the tip was 250 ms before: it finds rows whose
/// transactions committed in another order than that of their ids. Rows that are committed even later are found by a rare
/// sweep from the beginning.
struct ScanFloor<Position: Comparable & Sendable>: Sendable {
    /// A row that is committed within this time of drawing its id is found without a sweep.
    static var leastAge: Duration { .milliseconds(250) }
    /// How often a scan begins at the floor.
    static var leastInterval: Duration { .milliseconds(100) }

    private let beginning: Position
    /// The floor rises after this many rows: walking over fewer costs nothing.
    private let leastRows: Int
    private(set) var position: Position
    private var tip: Position
    private var beganAt: MonotonicInstant?
    private var candidate: (position: Position, since: MonotonicInstant)?
    private var rows = 0

    init(at beginning: Position, leastRows: Int = 0) {
        self.beginning = beginning
        self.leastRows = leastRows
        position = beginning
        tip = beginning
    }

    var isLow: Bool { position == beginning }

    mutating func start(at now: MonotonicInstant) -> Position {
        if let beganAt, now - beganAt < Self.leastInterval { return max(position, tip) }
        beganAt = now
        return position
    }

    /// Rows were taken at that position.
    mutating func took(_ rows: Int = 0, at position: Position, _ now: MonotonicInstant) {
        tip = position
        self.rows += rows
        guard let candidate else {
            self.candidate = (position, now)
            self.rows = rows
            return
        }
        guard self.rows >= leastRows, now - candidate.since >= Self.leastAge else { return }
        self.position = max(self.position, candidate.position)
        self.candidate = (position, now)
        self.rows = 0
    }

    /// A row is at that position.
    mutating func lower(to position: Position) {
        self.position = min(self.position, position)
        tip = min(tip, position)
        if let candidate, candidate.position > position { self.candidate = nil }
    }
}
