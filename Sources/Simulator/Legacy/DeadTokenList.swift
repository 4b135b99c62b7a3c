/// The list of the feedback service, in the order in which device tokens were added. A value.
struct DeadTokenList {
    /// A dead device token, and the topic whose certificates may read it; nil for all.
    struct Entry {
        let token: [UInt8]
        let topic: [UInt8]?
        /// The latest known time of death.
        var seconds: UInt32

        /// The wire format: seconds, length, device token.
        var tuple: [UInt8] {
            var tuple: [UInt8] = []
            tuple.reserveCapacity(6 + token.count)
            withUnsafeBytes(of: seconds.bigEndian) { tuple += $0 }
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: token.count).bigEndian) { tuple += $0 }
            return tuple + token
        }
    }

    private struct Key: Hashable {
        let token: [UInt8]
        let topic: [UInt8]?
    }

    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    /// The number of entries sent so far.
    private(set) var sent = 0

    /// The number of entries not sent yet.
    var waiting: Int { entries.count }

    /// Adds an entry. If the list already has it, the later time counts.
    mutating func add(_ entry: Entry) {
        let key = Key(token: entry.token, topic: entry.topic)
        if let index = indices[key] {
            entries[index].seconds = max(entries[index].seconds, entry.seconds)
        } else {
            indices[key] = entries.count
            entries.append(entry)
        }
    }

    /// Removes and returns the entries that the certificate may read. As with Apple, reading clears the list.
    mutating func take(for certificate: ClientCredential.Certificate) -> [Entry] {
        let isTaken = { (entry: Entry) in entry.topic.map { certificate.allows($0.span) } ?? true }
        let taken = entries.filter(isTaken)
        if taken.isEmpty { return [] }
        sent += taken.count
        refill(entries.filter { !isTaken($0) })
        return taken
    }

    /// Puts entries that were not sent back at the front.
    mutating func putBack(_ rest: ArraySlice<Entry>) {
        sent -= rest.count
        refill(rest + entries)
    }

    private mutating func refill(_ all: some Sequence<Entry>) {
        (entries, indices) = ([], [:])
        for entry in all { add(entry) }
    }
}
