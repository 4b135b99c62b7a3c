/// Every reason that the simulator itself can have to refuse a request, in Apple's words and with Apple's status.
///
/// Reasons that only a rule brings (`Unregistered`, `TooManyRequests`, `Shutdown`…) are text in ``AnswerRule``.
enum Refusal: UInt8, CaseIterable, Error, Sendable {
    case badCollapseID
    case badDeviceToken
    case badExpirationDate
    case badMessageID
    case badPriority
    case badTopic
    case duplicateHeaders
    case invalidPushType
    case missingDeviceToken
    case missingTopic
    case payloadEmpty
    case topicDisallowed
    case badCertificate
    case badCertificateEnvironment
    case badEnvironmentKeyIDInToken
    case expiredProviderToken
    case invalidProviderToken
    case missingProviderToken
    case unrelatedKeyIDInToken
    case badPath
    case methodNotAllowed
    case payloadTooLarge
    case tooManyProviderTokenUpdates

    var status: UInt16 {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates: 429
        }
    }

    var reason: StaticString {
        switch self {
        case .badCollapseID: "BadCollapseId"
        case .badDeviceToken: "BadDeviceToken"
        case .badExpirationDate: "BadExpirationDate"
        case .badMessageID: "BadMessageId"
        case .badPriority: "BadPriority"
        case .badTopic: "BadTopic"
        case .duplicateHeaders: "DuplicateHeaders"
        case .invalidPushType: "InvalidPushType"
        case .missingDeviceToken: "MissingDeviceToken"
        case .missingTopic: "MissingTopic"
        case .payloadEmpty: "PayloadEmpty"
        case .topicDisallowed: "TopicDisallowed"
        case .badCertificate: "BadCertificate"
        case .badCertificateEnvironment: "BadCertificateEnvironment"
        case .badEnvironmentKeyIDInToken: "BadEnvironmentKeyIdInToken"
        case .expiredProviderToken: "ExpiredProviderToken"
        case .invalidProviderToken: "InvalidProviderToken"
        case .missingProviderToken: "MissingProviderToken"
        case .unrelatedKeyIDInToken: "UnrelatedKeyIdInToken"
        case .badPath: "BadPath"
        case .methodNotAllowed: "MethodNotAllowed"
        case .payloadTooLarge: "PayloadTooLarge"
        case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
        }
    }
}
