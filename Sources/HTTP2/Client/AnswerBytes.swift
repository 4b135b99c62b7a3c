import CarillonIO

/// The bytes of a session's answers: the kept fields of each slot, and the bodies, each on a page.
struct AnswerBytes {
    /// How many bytes of kept header fields a slot has room for.
    private static let keptRoom = 192

    private let keptNames: [[UInt8]]
    private let bodyLimit: Int
    /// The kept fields of all slots, `keptRoom` bytes each.
    private(set) var kept: [UInt8] = []
    /// The bodies of answers, `bodyLimit` bytes a page.
    private(set) var pages: [UInt8] = []
    private var freePages: [UInt32] = []

    init(_ settings: ClientSettings) {
        precondition(settings.keptFields.count <= HTTP2Response.KeptFields.count, "too many kept fields")
        keptNames = settings.keptFields.map { Array($0.utf8) }
        bodyLimit = settings.bodyLimit
    }

    /// Makes room for the kept fields of another slot.
    mutating func addSlot() {
        if !keptNames.isEmpty { kept.append(contentsOf: repeatElement(0, count: Self.keptRoom)) }
    }

    /// Copies the field if it is one to keep and there is room for it.
    mutating func keep(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        of slot: inout ClientSlot,
        at index: Int
    ) {
        for place in keptNames.indices where keptNames[place].count == name.count {
            guard keptNames[place].elementsEqual(name) else { continue }
            let start = Int(slot.keptCount)
            guard !value.isEmpty, start + value.count <= Self.keptRoom else { return }
            let position = index * Self.keptRoom + start
            kept.withUnsafeMutableBufferPointer { kept in
                _ = UnsafeMutableBufferPointer(rebasing: kept[position..<position + value.count]).update(from: value)
            }
            slot.kept[place] = ByteRange(start: position, count: value.count)
            slot.keptCount += UInt8(value.count)
            return
        }
    }

    /// Copies a piece of the body as far as there is room for it, and returns how many bytes it copied.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>, to slot: inout ClientSlot) -> Int {
        if slot.page == ClientSlot.none { slot.page = takePage() }
        let received = Int(slot.received)
        let count = min(bytes.count, bodyLimit - received)
        let start = Int(slot.page) * bodyLimit + received
        pages.withUnsafeMutableBufferPointer { pages in
            _ = UnsafeMutableBufferPointer(rebasing: pages[start..<start + count]).update(from: bytes.prefix(count))
        }
        slot.received += UInt32(count)
        return count
    }

    func body(of slot: ClientSlot) -> ByteRange {
        slot.page == ClientSlot.none
            ? .empty : ByteRange(start: Int(slot.page) * bodyLimit, count: Int(slot.received))
    }

    /// Releases the slot's page, whose bytes stay readable until the next feed.
    mutating func releasePage(of slot: inout ClientSlot) {
        if slot.page != ClientSlot.none { freePages.append(slot.page) }
        slot.page = ClientSlot.none
    }

    private mutating func takePage() -> UInt32 {
        if let page = freePages.popLast() { return page }
        let page = UInt32(pages.count / bodyLimit)
        pages.append(contentsOf: repeatElement(0, count: bodyLimit))
        return page
    }
}
