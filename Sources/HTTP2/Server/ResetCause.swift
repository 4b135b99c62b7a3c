import CarillonIO

/// Infers from the fields and the code why a stream was reset before its request was complete: nghttp2 gives reasons only for
/// single fields.
enum ResetCause {
    static let windowOverflow = "a WINDOW_UPDATE made the stream's window larger than 2,147,483,647 bytes"
    static let openTrailers = "header fields that come after the body must end the stream (END_STREAM)"

    /// The cause in words; nil if it is unknown.
    static func words(on slot: ServerSlot, _ code: ErrorCode) -> String? {
        switch code {
        case .flowControlError: return "more data arrived than the stream's window allows"
        case .protocolError: break
        default: return nil
        }
        if !slot.hasHeader, let fault = pseudoFault(in: slot) { return fault }
        if let length = value(of: "content-length", in: slot) {
            return "content-length is \(length), which is not the length of the body"
        }
        return slot.hasHeader ? nil : "a pseudo-header field is wrong"
    }

    private static func pseudoFault(in slot: ServerSlot) -> String? {
        guard let method = value(of: ":method", in: slot) else { return missing(":method") }
        if method == "CONNECT" { return "a pseudo-header field is wrong: :method is CONNECT, which is for proxies" }
        if value(of: ":scheme", in: slot) == nil { return missing(":scheme") }
        guard let path = value(of: ":path", in: slot) else { return missing(":path") }
        if value(of: ":authority", in: slot) == nil, value(of: "host", in: slot) == nil { return missing(":authority") }
        return path.hasPrefix("/") ? nil : "the pseudo-header field :path does not begin with /"
    }

    private static func missing(_ name: String) -> String { "there is no \(name), which every request must have" }

    private static func value(of name: StaticString, in slot: ServerSlot) -> String? {
        for field in UnsafeBufferPointer(start: slot.fields, count: slot.fieldCount) {
            let range = field.name.range
            let given = UnsafeBufferPointer(start: slot.bytes + range.lowerBound, count: range.count)
            let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            guard given.elementsEqual(wanted) else { continue }
            let value = field.value.range
            let bytes = UnsafeBufferPointer(start: slot.bytes + value.lowerBound, count: value.count)
            return String(decoding: bytes, as: UTF8.self)
        }
        return nil
    }
}
