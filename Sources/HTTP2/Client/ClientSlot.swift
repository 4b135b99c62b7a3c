import CarillonIO

/// The state of one submitted request. A flat value, so that a thousand of them are one array.
struct ClientSlot {
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The request's header was handed out to be written.
        static let written = Flags(rawValue: 1 << 0)
        /// The request was handed out to its end.
        static let requestEnded = Flags(rawValue: 1 << 1)
        /// The final answer's header is complete.
        static let hasStatus = Flags(rawValue: 1 << 2)
        /// The peer ended its side.
        static let answerEnded = Flags(rawValue: 1 << 3)
        static let truncated = Flags(rawValue: 1 << 4)
        /// The tag's only event has been queued.
        static let reported = Flags(rawValue: 1 << 5)
        /// The event was taken out of the queue.
        static let taken = Flags(rawValue: 1 << 6)
        /// nghttp2 has closed the stream.
        static let closed = Flags(rawValue: 1 << 7)
    }

    static let none = UInt32.max

    var tag: UInt32 = 0
    var stream: Int32 = 0
    var flags: Flags = []
    var interimCount: UInt8 = 0
    var keptCount: UInt8 = 0
    var status: UInt16 = 0
    var fieldCount: UInt16 = 0
    var fieldBytes: UInt32 = 0
    var retryAfter: Int32 = -1
    /// The shared header block and the shared body, or `none` once they are no longer needed.
    var fields: UInt32 = ClientSlot.none
    var body: UInt32 = ClientSlot.none
    var bodySent: UInt32 = 0
    /// The page that contains the answer's body, or `none`; and how many bytes have arrived.
    var page: UInt32 = ClientSlot.none
    var received: UInt32 = 0
    /// The position of the request's end among all drained bytes, once it has been drained.
    var end: UInt64 = 0
    /// The number of the flush in which it was submitted.
    var flush: UInt32 = 0
    var kept = HTTP2Response.KeptFields(repeating: .empty)
    /// The next free slot, if this one is free.
    var nextFree: UInt32 = ClientSlot.none

    /// Whether the whole request is among the first `bytesWritten` bytes that were drained.
    func isWritten(bytesWritten: UInt64) -> Bool { flags.contains(.requestEnded) && end <= bytesWritten }

    /// Forgets an interim answer.
    mutating func dropInterim() {
        interimCount &+= 1
        status = 0
        retryAfter = -1
        keptCount = 0
        kept = HTTP2Response.KeptFields(repeating: .empty)
    }

    /// A number of seconds; a date, which Apple does not send, is ignored.
    static func seconds(_ digits: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard (1...9).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return -1 }
        return digits.reduce(0) { $0 * 10 + Int32($1 - 48) }
    }
}
