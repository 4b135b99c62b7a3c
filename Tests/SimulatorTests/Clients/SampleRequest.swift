@testable import ApplePushSimulator

/// A request as the checks see it, good unless a test spoils it.
struct SampleRequest {
    static let token = String(repeating: "0123456789abcdef", count: 4)

    var fields: [(name: String, value: String)]
    var payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    init(
        method: String = "POST",
        path: String = "/3/device/\(token)",
        topic: String? = "com.example.app",
        _ more: KeyValuePairs<String, String> = [:]
    ) {
        fields = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost")]
        if let topic { fields.append(("apns-topic", topic)) }
        for (name, value) in more { fields.append((name, value)) }
    }

    /// A request to a device token of this prefix and zeros.
    init(tokenPrefix prefix: String) {
        self.init(path: "/3/device/" + prefix + String(repeating: "0", count: 64 - prefix.utf8.count))
    }

    /// Requests to different device tokens.
    static func many(_ count: Int) -> [SampleRequest] {
        (0..<count).map { index in
            let digits = String(index, radix: 16)
            return SampleRequest(tokenPrefix: String(repeating: "0", count: 64 - digits.utf8.count) + digits)
        }
    }

    func with(payload: String) -> SampleRequest {
        var copy = self
        copy.payload = Array(payload.utf8)
        return copy
    }

    /// Flat bytes and where the parts lie in them.
    var flat: (head: RequestHead, bytes: [UInt8]) {
        var head = RequestHead()
        var bytes: [UInt8] = []
        for (name, value) in fields {
            let start = bytes.count
            bytes.append(contentsOf: value.utf8)
            let name = Array(name.utf8)
            head.note(name.span, at: start..<bytes.count)
        }
        return (head, bytes)
    }

    /// The first thing a check finds wrong, the credential left aside.
    func refusal(by check: inout RequestCheck, credential: ClientCredential = .providerToken) -> APNsRefusal? {
        let (head, bytes) = flat
        return check.refusalOfRoute(head, in: bytes.span)
            ?? check.refusalOfContent(
                head,
                in: bytes.span,
                payload: payload.span,
                credential: credential,
                bound: BoundTopics(known: check.topics.count)
            )
    }
}
