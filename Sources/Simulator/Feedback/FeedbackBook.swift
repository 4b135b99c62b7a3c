import Glibc

/// What the feedback service has to tell, in the order in which it became known. A value.
struct FeedbackBook {
    /// A token, and who is told of it.
    struct Entry {
        let topic: [UInt8]?
        /// As it goes over the wire: seconds, length, token.
        let tuple: [UInt8]
    }

    private var entries: [Entry] = []
    /// How many were told so far.
    private(set) var told = 0

    /// How many wait to be told.
    var waiting: Int { entries.count }

    mutating func add(_ token: [UInt8], seconds: UInt32, topic: [UInt8]?) {
        var tuple: [UInt8] = []
        tuple.reserveCapacity(6 + token.count)
        withUnsafeBytes(of: seconds.bigEndian) { tuple += $0 }
        withUnsafeBytes(of: UInt16(truncatingIfNeeded: token.count).bigEndian) { tuple += $0 }
        tuple += token
        entries.append(Entry(topic: topic, tuple: tuple))
    }

    mutating func add(_ dead: DeadToken) {
        let now = UInt32(truncatingIfNeeded: time(nil))
        add(dead.token, seconds: dead.seconds ?? now, topic: dead.topic.map { Array($0.utf8) })
    }

    /// All that is to be told to the holder of that certificate. Nobody else is told of it, unless it is put back.
    mutating func take(for certificate: ClientCredential.Certificate) -> [Entry] {
        var taken: [Entry] = []
        entries.removeAll { entry in
            guard entry.topic.map({ certificate.allows($0.span) }) ?? true else { return false }
            taken.append(entry)
            return true
        }
        told += taken.count
        return taken
    }

    /// These were not told after all.
    mutating func putBack(_ rest: some Collection<Entry>) {
        entries.insert(contentsOf: rest, at: 0)
        told -= rest.count
    }
}
