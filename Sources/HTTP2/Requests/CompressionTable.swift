/// The compression table of the peer's decoder, as this side's header blocks fill it (RFC 7541, section 2.3), with the fields of
/// the static table that requests use.
struct CompressionTable {
    /// Where a field or its name was found: its number in the two tables.
    enum Match: Equatable {
        case field(Int)
        case name(Int)
        case nothing
    }

    private struct Entry {
        let name: Int
        let value: Int

        var size: Int { CompressionTable.size(name: name, value: value) }
    }

    private struct StaticField {
        let number: Int
        let name: [UInt8]
        let value: [UInt8]

        init(_ number: Int, _ name: String, _ value: String = "") {
            (self.number, self.name, self.value) = (number, Array(name.utf8), Array(value.utf8))
        }
    }

    /// The size that a peer's table has before its settings arrive. A larger one is not used.
    static let largestSize = 4_096

    private static let staticFields = [
        StaticField(1, ":authority"), StaticField(2, ":method", "GET"), StaticField(3, ":method", "POST"),
        StaticField(4, ":path", "/"), StaticField(6, ":scheme", "http"), StaticField(7, ":scheme", "https"),
        StaticField(23, "authorization"),
    ]
    private static let staticCount = 61

    /// Oldest first; and their names and values, one after the other.
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    private(set) var size = 0
    /// The size that the peer was told last.
    private(set) var maxSize = Self.largestSize
    /// The size that the peer allows, and the lowest that it has allowed since it was told one.
    private var allowedSize = Self.largestSize
    private var lowestSize = Self.largestSize
    /// Changes with every change that may make an encoded header block wrong.
    private(set) var revision: UInt64 = 0

    var count: Int { entries.count }

    static func size(name: Int, value: Int) -> Int { name + value + 32 }

    // MARK: Sizes

    /// The peer has announced how large its table may be. It is told what is used of that in the next header block.
    mutating func allow(_ size: UInt32) {
        allowedSize = min(Int(size), Self.largestSize)
        lowestSize = min(lowestSize, allowedSize)
        revision &+= 1
    }

    /// Writes the changes of size that must begin the next header block: the lowest size in between, then the present one
    /// (RFC 7541, section 4.2).
    mutating func writeSizes(to block: inout HPACK) {
        if lowestSize < maxSize { resize(lowestSize, &block) }
        if allowedSize != maxSize { resize(allowedSize, &block) }
        lowestSize = allowedSize
    }

    private mutating func resize(_ size: Int, _ block: inout HPACK) {
        block.integer(size, .tableSize)
        maxSize = size
        evict(to: size)
        revision &+= 1
    }

    // MARK: Fields

    func find(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Match {
        var match = Self.findStatic(name: name, value: value)
        if case .field = match { return match }
        var start = 0
        bytes.withUnsafeBytes { bytes in
            for (index, entry) in entries.enumerated() {
                defer { start += entry.name + entry.value }
                guard entry.name == name.count, bytes[start..<start + entry.name].elementsEqual(name) else { continue }
                let number = Self.staticCount + entries.count - index
                let valueStart = start + entry.name
                if entry.value == value.count, bytes[valueStart..<valueStart + entry.value].elementsEqual(value) {
                    match = .field(number)
                    return
                }
                if match == .nothing { match = .name(number) }
            }
        }
        return match
    }

    private static func findStatic(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Match {
        var match = Match.nothing
        for field in staticFields where field.name.count == name.count && field.name.elementsEqual(name) {
            if !value.isEmpty, field.value.elementsEqual(value) { return .field(field.number) }
            if match == .nothing { match = .name(field.number) }
        }
        return match
    }

    static func staticNumber(of name: UnsafeRawBufferPointer) -> Int? {
        staticFields.first { $0.name.count == name.count && $0.name.elementsEqual(name) }?.number
    }

    /// Whether the field is worth a place: one that fills most of the table would push out all others.
    func hasRoom(name: Int, value: Int) -> Bool { 4 * Self.size(name: name, value: value) <= 3 * maxSize }

    /// Adds a field that a header block adds. The oldest ones make room for it.
    mutating func insert(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let entry = Entry(name: name.count, value: value.count)
        evict(to: maxSize - entry.size)
        revision &+= 1
        guard size + entry.size <= maxSize else { return }
        entries.append(entry)
        bytes += name
        bytes += value
        size += entry.size
    }

    private mutating func evict(to limit: Int) {
        var (evicted, byteCount) = (0, 0)
        while size > limit, evicted < entries.count {
            size -= entries[evicted].size
            byteCount += entries[evicted].name + entries[evicted].value
            evicted += 1
        }
        guard evicted > 0 else { return }
        entries.removeFirst(evicted)
        bytes.removeFirst(byteCount)
    }
}
