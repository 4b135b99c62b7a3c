import CarillonIO

/// The bytes in one direction of a link, and after how many of them the link is cut. A value without I/O.
struct ProxyFlow {
    /// How many bytes it holds before the sender has to wait, as on a slow network.
    private static let room = 256 * 1024

    private var chunks = ArraySlice<(due: MonotonicInstant, bytes: ArraySlice<UInt8>)>()
    private var waiting = 0
    /// How many bytes may still pass before the link is cut.
    private(set) var passesBeforeCut: Int?
    /// The sender has closed its direction.
    private(set) var hasEnded = false
    /// The receiver's direction was closed.
    private(set) var isClosed = false

    var hasRoom: Bool { !hasEnded && waiting < Self.room }
    var isToBeClosed: Bool { hasEnded && chunks.isEmpty && !isClosed }
    var isCut: Bool { passesBeforeCut == 0 }

    /// When the next bytes may be sent.
    var due: MonotonicInstant? { chunks.first?.due }

    mutating func cut(afterBytes count: Int?) {
        passesBeforeCut = count
    }

    mutating func received(_ bytes: ArraySlice<UInt8>, due: MonotonicInstant) {
        chunks.append((due, bytes))
        waiting += bytes.count
    }

    mutating func ended() {
        hasEnded = true
    }

    mutating func closed() {
        isClosed = true
    }

    /// The bytes that may be sent now.
    func ready(at now: MonotonicInstant) -> ArraySlice<UInt8>? {
        guard let (due, bytes) = chunks.first, due <= now, !isCut else { return nil }
        return bytes.prefix(passesBeforeCut ?? bytes.count)
    }

    mutating func passed(_ count: Int) {
        guard let (due, bytes) = chunks.popFirst() else { return }
        waiting -= count
        passesBeforeCut = passesBeforeCut.map { $0 - count }
        if count < bytes.count { chunks = [(due, bytes.dropFirst(count))] + chunks }
    }
}
