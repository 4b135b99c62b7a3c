extension Reason {
    /// Everything that is known about reasons. What pauses a credential keeps its pushes, unless sending them again
    /// is forbidden; 429 and 5xx are never the token's fault.
    static let table: [Row] = [
        Row("", 0, .failMessage),
        Row("MalformedToken", 0, .failToken),
        Row("MalformedHeader", 0, .failMessage),
        Row("BadCollapseId", 400, .failMessage),
        Row("BadDeviceToken", 400, .failToken),
        Row("BadExpirationDate", 400, .failMessage),
        Row("BadMessageId", 400, .failMessage),
        Row("BadPriority", 400, .failMessage),
        Row("BadTopic", 400, .failMessage, topic: true),
        Row("DeviceTokenNotForTopic", 400, .failToken, topic: true),
        Row("DuplicateHeaders", 400, .failMessage),
        Row("IdleTimeout", 400, .replaceConnection, retry: true),
        Row("InvalidPushType", 400, .failMessage),
        Row("MissingDeviceToken", 400, .failMessage),
        Row("MissingTopic", 400, .failMessage, topic: true),
        Row("PayloadEmpty", 400, .failMessage),
        Row("TopicDisallowed", 400, .failTopic, topic: true),
        Row("BadCertificate", 403, .pauseCredential, retry: true),
        Row("BadCertificateEnvironment", 403, .pauseCredential, retry: true),
        Row("BadEnvironmentKeyIdInToken", 403, .pauseCredential, retry: true),
        Row("BadEnvironmentKeyInToken", 403, .pauseCredential, retry: true),
        Row("ExpiredProviderToken", 403, .renewProviderToken, retry: true),
        Row("Forbidden", 403, .pauseCredential),
        Row("InvalidProviderToken", 403, .pauseCredential, retry: true),
        Row("MissingProviderToken", 403, .pauseCredential, retry: true),
        Row("UnrelatedKeyIdInToken", 403, .replaceConnection, retry: true),
        Row("BadPath", 404, .failMessage),
        Row("MethodNotAllowed", 405, .failMessage),
        Row("ExpiredToken", 410, .deleteToken),
        Row("Unregistered", 410, .deleteToken),
        Row("PayloadTooLarge", 413, .failMessage),
        Row("TooManyProviderTokenUpdates", 429, .keepProviderToken, retry: true),
        Row("TooManyRequests", 429, .retryLater, retry: true),
        Row("InternalServerError", 500, .retryLater, retry: true),
        Row("ServiceUnavailable", 503, .retryLater, retry: true),
        Row("Shutdown", 503, .replaceConnection, retry: true),
    ]

    /// The table by name.
    static let indices: [String: UInt16] = [String: UInt16](
        uniqueKeysWithValues: table.indices.dropFirst().map { (table[$0].name, UInt16($0)) }
    )
}
