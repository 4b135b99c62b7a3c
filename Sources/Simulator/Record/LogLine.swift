import CarillonTLS
import CarillonText

/// Writes requests as JSON lines into a buffer.
struct LogLine {
    /// The text of the current time, made once per millisecond.
    private var time = (milliseconds: Int64.min, text: [UInt8]())
    private var lastPayload: [UInt8] = []
    /// The end of a line with that payload, so that one payload for many device tokens is hashed and quoted only once.
    private var lastEnd: [UInt8] = []

    /// The members of a line that are not in the bytes of the request.
    struct Facts {
        let now: Int64
        let connection: Int
        let stream: Int32
        var status: UInt16?
        /// The binary gateway's status, in place of the HTTP status.
        var binaryStatus: UInt8?
        var reason: String?
        /// The cause, in more detail than the reason.
        var detail: String?
        /// The certificate's topic, for a request that names none.
        var onlyTopic: [UInt8]?
        /// Length and hash of the whole body, if only its beginning was kept.
        var longBody: (count: Int, digest: [UInt8])?
        /// Set for a request about channels, which has no device token.
        var channelRequest: ReceivedChannelRequest?
    }

    private mutating func begin(_ now: Int64, _ connection: Int, _ line: inout [UInt8]) {
        if now != time.milliseconds { time = (now, Array(TimeText.milliseconds(now * 1000).utf8)) }
        line.append("{\"time\":\"")
        line.append(contentsOf: time.text)
        line.append("\"")
        line.appendMember("connection", connection)
    }

    mutating func append(_ failure: ConnectionFailure, to line: inout [UInt8]) {
        begin(failure.time, failure.connection, &line)
        line.appendMember("failed", failure.isHandshake ? "handshake" : "connection")
        line.appendMember("error", failure.message)
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
        begin(facts.now, facts.connection, &line)
        line.appendMember("stream", facts.stream)
        line.appendName("apns_id")
        if id.isEmpty { line.append("null") } else { line.appendQuoted(id) }
        if let request = facts.channelRequest {
            line.appendMember("request", request.action.rawValue)
            line.appendMember("app", request.app)
            line.appendMember("channel", request.channel)
        } else {
            line.appendName("token")
            line.appendQuoted(repairing: bytes.extracting(head.deviceToken(in: bytes)))
        }
        if let topic = facts.onlyTopic, !head.topic.isPresent {
            line.appendName("topic")
            line.appendQuoted(repairing: topic.span)
        } else {
            Self.append("topic", head.topic, in: bytes, to: &line)
        }
        Self.append("push_type", head.pushType, in: bytes, to: &line)
        Self.append("priority", head.priority, in: bytes, isNumber: true, to: &line)
        Self.append("expiration", head.expiration, in: bytes, isNumber: true, to: &line)
        Self.append("collapse_id", head.collapseID, in: bytes, to: &line)
        line.appendMember("status", facts.status)
        if let status = facts.binaryStatus { line.appendMember("binary_status", Int(status)) }
        line.appendMember("reason", facts.reason)
        if let detail = facts.detail { line.appendMember("detail", detail) }
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
        line.appendName(name)
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
        line.appendMember("bytes", count)
        line.append(",\"sha256\":\"")
        for byte in digest { line.append(hexadecimal: byte) }
        line.append("\"")
        line.appendName("payload")
        line.appendQuoted(repairing: payload)
        line.append("}\n")
    }
}
