import ApplePush
import TestSupport

/// The script on each wire.
extension GatewayScript {
    private static func number(_ token: some StringProtocol) -> Int { Int(token, radix: 16) ?? -1 }

    func acts(on seen: TestGateway.Seen) -> [TestGateway.Act] {
        switch judge(Self.number(seen.token), PushID(seen.id)) {
        case .accept: [.answer(200)]
        case .refuse: [.answer(400, #"{"reason":"BadDeviceToken"}"#)]
        case .dead: [.answer(410, #"{"reason":"Unregistered","timestamp":1700000000000}"#)]
        case .hold: [.wait(gate), .answer(200)]
        case .cut: [.hangUp]
        }
    }

    /// Reads notifications. The one without a device token is a barrier, which is always refused.
    func serveBinary(_ line: inout RawLine) async throws {
        while let notification = try await line.nextNotification() {
            var refusal: UInt8?
            if notification.token.isEmpty {
                refusal = 2
            } else {
                switch judge(notification.number) {
                case .accept, .dead: break
                case .refuse: refusal = 8
                case .hold: await gate.pass()
                case .cut: return
                }
            }
            guard let refusal else { continue }
            try await line.send(notification.refusal(refusal))
            // Bytes that nobody has read would make the kernel throw the refusal away.
            while try await line.next(1) != nil {}
        }
    }

    /// The recorded backend answers at once, so it holds nothing.
    func recordedAnswer(to token: String, _ flaw: BackendUnderTest.Flaw?) -> RecordedBackend.Answer {
        if let flaw { return .unreachable(flaw.error) }
        return switch judge(Self.number(token)) {
        case .accept, .hold: .accepted
        case .refuse: .rejected(400, "BadDeviceToken")
        case .dead: .rejected(410, "Unregistered", timestamp: 1_700_000_000_000)
        case .cut: .unknown
        }
    }

    func relay(_ token: String, _ id: PushID, _ flaw: BackendUnderTest.Flaw?) async throws(PushError) -> Outcome? {
        if let flaw { throw flaw.error }
        switch judge(Self.number(token), id) {
        case .accept: return .accepted
        case .refuse: return Outcome(.rejected, status: 400, reason: .badDeviceToken)
        case .dead:
            let reason = Reason(name: "Unregistered") ?? .none
            return Outcome(.rejected, status: 410, reason: reason, timestamp: 1_700_000_000_000)
        case .hold:
            await gate.pass()
            return Task.isCancelled ? nil : .accepted
        case .cut: return nil
        }
    }
}
