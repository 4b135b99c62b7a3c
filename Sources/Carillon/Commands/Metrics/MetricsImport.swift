import CarillonText

/// Stores what a file says, and shows the lines that are refused. Memory holds a part of it.
struct MetricsImport {
    struct Tally {
        var refused = 0
        var stored: Int64 = 0
        var added: Int64 = 0
        var changed: Int64 = 0
    }

    private static let maxShown = 10

    let app: String
    let store: MetricsStore
    let console: Console
    /// Microseconds since 1970.
    let now: Int64

    /// - Parameter more: returns the next bytes of the file; empty ones at its end.
    func run(_ more: () async throws -> ArraySlice<UInt8>) async throws -> Tally {
        var reader = MetricsReader(now: now)
        var tally = Tally()
        var isAtEnd = false
        // An app that does not exist is refused before anything is read.
        _ = try await store.store([], of: app)
        while true {
            var counts: [MetricsReader.Count] = []
            var refusals: [RefusedLine] = []
            let isHungry = try reader.read(&counts, &refusals)
            for refusal in refusals.prefix(max(0, Self.maxShown - tally.refused)) { console.note(refusal.sentence) }
            tally.refused += refusals.count
            if !counts.isEmpty {
                let change = try await store.store(counts, of: app)
                tally.stored += Int64(counts.count)
                tally.added += change.added
                tally.changed += change.changed
            }
            guard isHungry else { continue }
            if isAtEnd { return tally }
            let bytes = try await more()
            isAtEnd = bytes.isEmpty
            if isAtEnd { reader.finish() } else { reader.feed(bytes) }
        }
    }

    /// Warns of refused lines, and returns "12 counts of shop: 3 new, 1 changed, 8 known already."
    func conclude(_ tally: Tally) -> String {
        if tally.refused > 0 {
            let shown = tally.refused > Self.maxShown ? "; the first \(Self.maxShown) are listed" : ""
            console.warn(Counted.text(Int64(tally.refused), "line was refused", "lines were refused") + shown + ".")
        }
        let known = Int(tally.stored - tally.added - tally.changed).grouped
        return "\(Counted.text(tally.stored, "count")) of \(app.visible): \(Int(tally.added).grouped) new, "
            + "\(Int(tally.changed).grouped) changed, \(known) known already."
    }
}
