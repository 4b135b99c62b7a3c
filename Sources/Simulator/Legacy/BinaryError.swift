/// The error that the binary gateway sends before it closes a connection. It sends nothing for accepted notifications.
struct BinaryError: Equatable, Sendable {
    /// Apple's numbers.
    enum Status: UInt8, Sendable {
        case processing = 1
        case missingToken, missingTopic, missingPayload, tokenSize, topicSize, payloadSize, invalidToken
        case shutdown = 10
        case protocolError = 128
        case unknown = 255
    }

    let status: Status
    let identifier: UInt32

    var bytes: [UInt8] {
        [8, status.rawValue] + stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: identifier >> $0) }
    }
}

extension BinaryError.Status {
    /// Nil if the gateway accepts the notification. A dead token is accepted, and listed by the feedback service.
    init?(_ judgement: Judgement, _ answer: GatewayAnswer) {
        switch (answer.status, answer.reason) {
        case (200, _), (410, _), (nil, _): return nil
        case (_, "Shutdown"): self = .shutdown
        case (_, "MissingDeviceToken"): self = .missingToken
        case (_, "MissingTopic"): self = .missingTopic
        case (_, "PayloadEmpty"): self = .missingPayload
        case (_, "BadTopic"), (_, "TopicDisallowed"): self = .topicSize
        case (413, _): self = .payloadSize
        case (_, "BadDeviceToken") where judgement == .refused(.badDeviceToken): self = .tokenSize
        case (_, "BadDeviceToken"), (_, "DeviceTokenNotForTopic"): self = .invalidToken
        case (500?, _), (503?, _): self = .processing
        default: self = .unknown
        }
    }
}
