/// Every reason that the simulator itself can have to refuse a request, in Apple's words and with Apple's status.
///
/// Reasons that only a rule brings (`Unregistered`, `TooManyRequests`, `Shutdown`…) are text in ``AnswerRule``.
enum Refusal: UInt8, CaseIterable, Error, Sendable {
    case badCollapseID
    case badDeviceToken
    case badExpirationDate
    case badMessageID
    case badPriority
    case badDefaultPriority
    case badTopic
    case deviceTokenNotForTopic
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
    case derSignature
    case malformedToken
    case paddedToken
    case tokenBase64
    case tokenAlgorithm
    case tokenWithoutKeyID
    case tokenWithoutTeamID
    case tokenWithoutTime
    case tokenInMilliseconds
    case tokenFromFuture
    case tokenSignature
    case tokenSignatureLength
    case otherTeam
    case unknownKey
    case unknownTeam
    case keyTaken
    case quotedIssueTime
    case missingProviderToken
    case unrelatedKeyIDInToken
    case badPath
    case methodNotAllowed
    case payloadTooLarge
    case headerListTooLarge
    case tooManyProviderTokenUpdates

    var status: UInt16 {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badDefaultPriority,
            .badTopic, .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic,
            .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
            .invalidProviderToken, .derSignature, .quotedIssueTime, .missingProviderToken, .unrelatedKeyIDInToken,
            .malformedToken, .paddedToken, .tokenBase64, .tokenAlgorithm, .tokenWithoutKeyID, .tokenWithoutTeamID,
            .tokenWithoutTime, .tokenInMilliseconds, .tokenFromFuture, .tokenSignature, .tokenSignatureLength,
            .otherTeam, .unknownKey, .unknownTeam, .keyTaken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates: 429
        case .headerListTooLarge: 431
        }
    }

    /// Nil for the one that HTTP itself has, of which Apple says nothing.
    var reason: StaticString? {
        switch self {
        case .badCollapseID: "BadCollapseId"
        case .badDeviceToken: "BadDeviceToken"
        case .badExpirationDate: "BadExpirationDate"
        case .badMessageID: "BadMessageId"
        case .badPriority, .badDefaultPriority: "BadPriority"
        case .badTopic: "BadTopic"
        case .deviceTokenNotForTopic: "DeviceTokenNotForTopic"
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
        case .invalidProviderToken, .derSignature, .quotedIssueTime, .malformedToken, .paddedToken, .tokenBase64,
            .tokenAlgorithm, .tokenWithoutKeyID, .tokenWithoutTeamID, .tokenWithoutTime, .tokenInMilliseconds,
            .tokenFromFuture, .tokenSignature, .tokenSignatureLength, .otherTeam, .unknownKey, .unknownTeam, .keyTaken:
            "InvalidProviderToken"
        case .missingProviderToken: "MissingProviderToken"
        case .unrelatedKeyIDInToken: "UnrelatedKeyIdInToken"
        case .badPath: "BadPath"
        case .methodNotAllowed: "MethodNotAllowed"
        case .payloadTooLarge: "PayloadTooLarge"
        case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
        case .headerListTooLarge: nil
        }
    }
}
