import CarillonIO

/// Where scans of an index begin, so that they skip the dead entries of rows that were taken.
///
/// Dead entries stay until vacuum removes them, which a long transaction prevents. Most scans begin at the tip, where rows were
/// taken last. Every 100 ms one begins at the floor, which rises to where the tip was 250 ms before: it finds rows whose
/// transactions committed in another order than that of their ids. Rows that are committed even later are found by a rare
/// sweep from the beginning.
struct ScanFloor<Place: Comparable & Sendable>: Sendable {
    /// A row that is committed within this time of drawing its id is found without a sweep.
    static var leastAge: Duration { .milliseconds(250) }
    /// How often a scan begins at the floor.
    static var leastInterval: Duration { .milliseconds(100) }

    private let beginning: Place
    /// The floor rises after this many rows: walking over fewer costs nothing.
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

    mutating func start(at now: MonotonicInstant) -> Place {
        if let beganAt, now - beganAt < Self.leastInterval { return max(place, tip) }
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

    /// A row is at that place.
    mutating func lower(to place: Place) {
        self.place = min(self.place, place)
        tip = min(tip, place)
        if let candidate, candidate.place > place { self.candidate = nil }
    }
}
