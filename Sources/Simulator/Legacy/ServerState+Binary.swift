import CarillonIO
import CarillonText

extension ServerState {
    /// Judges the notifications that have arrived in full, until one ends the connection; nil if the connection stays open.
    mutating func end(of client: inout BinaryClient) -> BinaryClient.End? {
        while true {
            switch client.reader.next() {
            case .incomplete: return nil
            case .malformed(let identifier):
                return .error(BinaryError(status: .protocolError, identifier: identifier))
            case .notification(let notification):
                client.count += 1
                if let end = take(notification, from: client) { return end }
            }
        }
    }

    /// Judges and records a notification. Returns how the connection ends, if it does.
    private mutating func take(_ notification: Notification, from client: BinaryClient) -> BinaryClient.End? {
        let bytes = client.reader.bytes
        // Take it out of the server, so that it can be passed to the judge.
        var token = exchange(&id, with: [])
        defer { id = token }
        token.removeAll(keepingCapacity: true)
        for byte in bytes[notification.token] { token.append(hexadecimal: byte) }
        let payload = bytes.span.extracting(notification.payload)
        let judgement = judge.judgement(on: notification, token: token.span, payload: payload, from: client.certificate)
        let answer = answer(to: judgement)
        recorder.counters.requestJudged(judgement, payload: payload.count)
        let status = BinaryError.Status(judgement, answer)
        if recorder.keepsRequests { record(notification, token, from: client, answer, status) }
        if let deadTokens, let seconds = answer.death(now: now) {
            let entry = DeadTokenList.Entry(
                token: Array(bytes[notification.token]),
                topic: client.certificate.topics.first,
                seconds: seconds
            )
            deadTokens.list.withLock { $0.add(entry) }
        }
        return end(after: notification, from: client, answer, status)
    }

    private mutating func end(
        after notification: Notification,
        from client: BinaryClient,
        _ answer: GatewayAnswer,
        _ refusal: BinaryError.Status?
    ) -> BinaryClient.End? {
        if client.count == configuration.resetAfter {
            recorder.counters.rare.resets += 1
            return .reset
        }
        if answer.status == nil { return answer.resetsStream ? .reset : .silence }
        var status = refusal
        if status == nil, client.count == configuration.goAwayAfter {
            recorder.counters.rare.goAways += 1
            status = .shutdown
        }
        guard let status else { return nil }
        // Command 0 has no errors: the gateway only closes.
        let error = BinaryError(status: status, identifier: notification.identifier)
        return .error(notification.command == 0 ? nil : error)
    }

    /// Records a notification as the equivalent HTTP/2 request.
    private mutating func record(
        _ notification: Notification,
        _ token: [UInt8],
        from client: BinaryClient,
        _ answer: GatewayAnswer,
        _ refusal: BinaryError.Status?
    ) {
        var bytes: [UInt8] = []
        var head = RequestHead()
        func note(_ name: String, _ value: String) {
            let start = bytes.count
            bytes.append(contentsOf: value.utf8)
            head.note(Array(name.utf8).span, at: start..<bytes.count)
        }
        note(":path", "\(RequestHead.pathPrefix)\(String(decoding: token, as: UTF8.self))")
        if let topic = client.certificate.topics.first { note("apns-topic", String(decoding: topic, as: UTF8.self)) }
        if let priority = notification.priority { note("apns-priority", "\(priority)") }
        if let expiration = notification.expiration { note("apns-expiration", "\(expiration)") }
        guard recorder.keeps(head, in: bytes.span) else { return }
        var facts = LogLine.Facts(now: now, connection: client.number, stream: Int32(truncatingIfNeeded: client.count))
        (facts.status, facts.reason, facts.detail) = (answer.status, answer.reason, answer.detail)
        facts.binaryStatus = notification.command == 0 ? nil : refusal?.rawValue
        let id = Array("\(notification.identifier)".utf8)
        let payload = client.reader.bytes.span.extracting(notification.payload)
        if refusal == .payloadSize {
            facts.detail =
                "\(payload.count) bytes; command \(notification.command) takes at most \(notification.payloadLimit)"
        }
        recorder.log(facts, head, in: bytes.span, id: id.span, payload: payload)
        // A request that is kept contains only what the client can know.
        if answer.status != nil { facts.status = 200 }
        if let refusal, refusal != .shutdown { facts.status = UInt16(refusal.rawValue) }
        _ = recorder.keepRequest(facts, head, in: bytes.span, id: id.span, payload: payload)
    }
}
