/// An app in the database.
package struct StoredApp: Sendable, Equatable, Identifiable {
    package let id: Int32
    package let name: String
    package let topic: String?
    /// The name of its credential.
    package let credential: String?
    package let environment: String
    package let `protocol`: String
    package let gateway: String?
    package let feedbackGateway: String?
    package let isPaused: Bool
    /// Why, if somebody said so.
    package let pauseReason: String?
    package let maxRate: Int32?
    package let maxAttempts: Int32
    /// BadDeviceToken deletes the token too.
    package let reapsBadTokens: Bool
    /// PEM.
    package let gatewayCA: String?
    /// Microseconds since 1970.
    package let createdAt: Int64
    package let updatedAt: Int64
}
