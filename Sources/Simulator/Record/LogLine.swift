import TLS

/// Writes requests as JSON lines into a buffer.
struct LogLine {
    private var time = TimeText()
    private var lastPayload: [UInt8] = []
    /// The end of a line with that payload: one payload for many tokens is hashed and quoted once.
    private var lastEnd: [UInt8] = []

    /// What a line says of a request beside its own words.
    struct Facts {
        let now: Int64
        let connection: Int
        let stream: Int32
        let status: UInt16?
        let reason: String?
        /// What the reason leaves open.
        var detail: StaticString?
    }

    /// A connection's end by a fault, of which no request tells.
    mutating func append(_ failure: ConnectionFailure, to line: inout [UInt8]) {
        time.set(failure.time)
        line.append("{\"time\":\"")
        line.append(contentsOf: time.bytes)
        line.append("\",\"connection\":")
        line.append(decimal: failure.connection)
        line.append(",\"failed\":\"")
        line.append(failure.isHandshake ? "handshake" : "connection")
        line.append("\",\"error\":")
        let message = Array(failure.message.utf8)
        line.appendQuoted(message.span)
        line.append("}\n")
    }

    mutating func append(
        _ facts: Facts,
        head: RequestHead,
        in bytes: Span<UInt8>,
        id: Span<UInt8>,
        payload: Span<UInt8>,
        to line: inout [UInt8]
    ) {
        time.set(facts.now)
        line.append("{\"time\":\"")
        line.append(contentsOf: time.bytes)
        line.append("\",\"connection\":")
        line.append(decimal: facts.connection)
        line.append(",\"stream\":")
        line.append(decimal: facts.stream)
        line.append(",\"apns_id\":")
        line.appendQuoted(id)
        line.append(",\"token\":")
        line.appendQuoted(repairing: bytes.extracting(RequestCheck.token(of: head, in: bytes)))
        Self.append("topic", head.topic, in: bytes, to: &line)
        Self.append("push_type", head.pushType, in: bytes, to: &line)
        Self.append("priority", head.priority, in: bytes, isNumber: true, to: &line)
        Self.append("expiration", head.expiration, in: bytes, isNumber: true, to: &line)
        Self.append("collapse_id", head.collapseID, in: bytes, to: &line)
        line.append(",\"status\":")
        if let status = facts.status { line.append(decimal: status) } else { line.append("null") }
        line.append(",\"reason\":")
        if let reason = facts.reason {
            let text = Array(reason.utf8)
            line.appendQuoted(text.span)
        } else {
            line.append("null")
        }
        if let detail = facts.detail {
            line.append(",\"detail\":\"")
            line.append(detail)
            line.append("\"")
        }
        appendPayload(payload, to: &line)
    }

    private static func append(
        _ name: StaticString,
        _ part: RequestHead.Part,
        in bytes: Span<UInt8>,
        isNumber: Bool = false,
        to line: inout [UInt8]
    ) {
        line.append(",\"")
        line.append(name)
        line.append("\":")
        let value = bytes.extracting(part.range)
        if !part.isPresent {
            line.append("null")
        } else if isNumber, HeaderForm.isExpiration(value), value.count == 1 || value[0] != UInt8(ascii: "0") {
            line.append(value)
        } else {
            line.appendQuoted(repairing: value)
        }
    }

    private mutating func appendPayload(_ payload: Span<UInt8>, to line: inout [UInt8]) {
        if lastEnd.isEmpty || !payload.equals(lastPayload.span) {
            lastPayload = payload.array
            lastEnd.removeAll(keepingCapacity: true)
            lastEnd.append(",\"bytes\":")
            lastEnd.append(decimal: payload.count)
            lastEnd.append(",\"sha256\":\"")
            for byte in Digest.sha256(lastPayload.span.bytes) {
                lastEnd.append(Hexadecimal.digit(byte >> 4))
                lastEnd.append(Hexadecimal.digit(byte))
            }
            lastEnd.append("\",\"payload\":")
            lastEnd.appendQuoted(repairing: payload)
            lastEnd.append("}\n")
        }
        line.append(contentsOf: lastEnd)
    }
}
