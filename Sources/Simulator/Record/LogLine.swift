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
        var status: UInt16?
        var reason: String?
        /// What the reason leaves open.
        var detail: String?
        /// The topic of the certificate that counts where the request names none.
        var onlyTopic: [UInt8]?
        /// The whole body's length and hash, where only its beginning is at hand.
        var longBody: LongBody?
    }

    /// A body that is longer than what is kept of one.
    struct LongBody {
        let count: Int
        let digest: [UInt8]
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
        if id.isEmpty { line.append("null") } else { line.appendQuoted(id) }
        line.append(",\"token\":")
        line.appendQuoted(repairing: bytes.extracting(RequestCheck.token(of: head, in: bytes)))
        if let topic = facts.onlyTopic, !head.topic.isPresent {
            line.append(",\"topic\":")
            line.appendQuoted(repairing: topic.span)
        } else {
            Self.append("topic", head.topic, in: bytes, to: &line)
        }
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
            line.append(",\"detail\":")
            let text = Array(detail.utf8)
            line.appendQuoted(repairing: text.span)
        }
        if facts.status == 404 || facts.status == 405 {
            Self.append("method", head.method, in: bytes, to: &line)
            Self.append("path", head.path, in: bytes, to: &line)
        }
        if let body = facts.longBody {
            Self.appendEnd(body.count, body.digest, payload, to: &line)
        } else {
            appendPayload(payload, to: &line)
        }
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
            Self.appendEnd(payload.count, Digest.sha256(lastPayload.span.bytes), payload, to: &lastEnd)
        }
        line.append(contentsOf: lastEnd)
    }

    private static func appendEnd(_ count: Int, _ digest: [UInt8], _ payload: Span<UInt8>, to line: inout [UInt8]) {
        line.append(",\"bytes\":")
        line.append(decimal: count)
        line.append(",\"sha256\":\"")
        for byte in digest {
            line.append(Hexadecimal.digit(byte >> 4))
            line.append(Hexadecimal.digit(byte))
        }
        line.append("\",\"payload\":")
        line.appendQuoted(repairing: payload)
        line.append("}\n")
    }
}
