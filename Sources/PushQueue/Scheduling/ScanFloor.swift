import IO

/// Where scans of an index begin, so that they do not walk over the dead entries of rows that were taken.
///
/// Dead entries stay until vacuum removes them, which it cannot while a transaction is long. Most scans begin at the tip,
/// where rows were taken last. Now and then one begins at the floor, which rises to where the tip was a quarter of a second
/// before: so rows are found whose transactions commit in another order than they drew their ids. Rows that are committed
/// later still, below the floor, are found by a rare sweep from the beginning.
struct ScanFloor<Place: Comparable & Sendable>: Sendable {
    /// How long a row may take from drawing its id to its commit without waiting for a sweep.
    static var leastAge: Duration { .milliseconds(250) }
    /// How often a scan begins at the floor.
    static var leastPause: Duration { .milliseconds(100) }

    private let beginning: Place
    /// The floor rises after that many rows at the earliest: walking over fewer costs nothing.
    private let leastRows: Int
    private(set) var place: Place
    private var tip: Place
    private var beganAt: MonotonicInstant?
    private var candidate: (place: Place, since: MonotonicInstant)?
    private var rows = 0

    init(at beginning: Place, leastRows: Int = 0) {
        self.beginning = beginning
        self.leastRows = leastRows
        place = beginning
        tip = beginning
    }

    var isLow: Bool { place == beginning }

    /// Where to begin a scan now.
    mutating func start(at now: MonotonicInstant) -> Place {
        if let beganAt, now - beganAt < Self.leastPause { return max(place, tip) }
        beganAt = now
        return place
    }

    /// Rows were taken at that place.
    mutating func took(_ rows: Int = 0, at place: Place, _ now: MonotonicInstant) {
        tip = place
        self.rows += rows
        guard let candidate else {
            self.candidate = (place, now)
            self.rows = rows
            return
        }
        guard self.rows >= leastRows, now - candidate.since >= Self.leastAge else { return }
        self.place = max(self.place, candidate.place)
        self.candidate = (place, now)
        self.rows = 0
    }

    /// A row was put or found below.
    mutating func lower(to place: Place) {
        self.place = min(self.place, place)
        tip = min(tip, place)
        if let candidate, candidate.place > place { self.candidate = nil }
    }
}
