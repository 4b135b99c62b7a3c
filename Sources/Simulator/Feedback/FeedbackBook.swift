import Glibc

/// What the feedback service has to tell, in the order in which it became known. A value.
struct FeedbackBook {
    /// A token, and who is told of it.
    fileprivate struct Subject: Hashable {
        let topic: [UInt8]?
        let token: [UInt8]
    }

    struct Entry {
        fileprivate let subject: Subject
        /// Since when the token is dead, as far as is known.
        fileprivate(set) var seconds: UInt32

        var topic: [UInt8]? { subject.topic }

        /// As it goes over the wire: seconds, length, token.
        var tuple: [UInt8] {
            var tuple: [UInt8] = []
            tuple.reserveCapacity(6 + subject.token.count)
            withUnsafeBytes(of: seconds.bigEndian) { tuple += $0 }
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: subject.token.count).bigEndian) { tuple += $0 }
            return tuple + subject.token
        }
    }

    private var entries: [Entry] = []
    /// Where each entry is.
    private var places: [Subject: Int] = [:]
    /// How many were told so far.
    private(set) var told = 0

    /// How many wait to be told.
    var waiting: Int { entries.count }

    /// A token is dead. One that waits already is told once, with the later time.
    mutating func add(_ token: [UInt8], seconds: UInt32, topic: [UInt8]?) {
        let subject = Subject(topic: topic, token: token)
        if let place = places[subject] {
            entries[place].seconds = max(entries[place].seconds, seconds)
        } else {
            places[subject] = entries.count
            entries.append(Entry(subject: subject, seconds: seconds))
        }
    }

    mutating func add(_ dead: DeadToken) {
        let now = UInt32(truncatingIfNeeded: time(nil))
        add(dead.token, seconds: dead.seconds ?? now, topic: dead.topic.map { Array($0.utf8) })
    }

    /// All that is to be told to the holder of that certificate. The list is cleared by reading, as at Apple's: nobody else is told
    /// of it, unless it is put back.
    mutating func take(for certificate: ClientCredential.Certificate) -> [Entry] {
        var taken: [Entry] = []
        entries.removeAll { entry in
            guard entry.topic.map({ certificate.allows($0.span) }) ?? true else { return false }
            taken.append(entry)
            return true
        }
        told += taken.count
        if !taken.isEmpty { findPlaces() }
        return taken
    }

    /// These were not told after all.
    mutating func putBack(_ rest: some Collection<Entry>) {
        told -= rest.count
        let newer = entries
        (entries, places) = ([], [:])
        for entry in rest { add(entry) }
        for entry in newer { add(entry) }
    }

    private mutating func add(_ entry: Entry) {
        add(entry.subject.token, seconds: entry.seconds, topic: entry.topic)
    }

    private mutating func findPlaces() {
        places = [:]
        for (place, entry) in entries.enumerated() { places[entry.subject] = place }
    }
}
