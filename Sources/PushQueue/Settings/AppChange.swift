/// Changes of an app's settings. Nil leaves a setting as it is.
package struct AppChange: Sendable, Equatable {
    /// A setting that may be absent.
    package enum Clearable: String, Sendable, CaseIterable {
        case topic
        case gateway
        case gatewayCA = "gateway-ca"
        case feedbackGateway = "feedback-gateway"
        case maxRate = "max-rate"
    }

    /// Cleared before the rest is set.
    package var cleared: Set<Clearable> = []
    package var name: String?
    package var topic: String?
    package var credential: String?
    package var environment: String?
    package var `protocol`: String?
    package var gateway: String?
    package var gatewayCA: String?
    package var feedbackGateway: String?
    package var maxRate: Int32?
    package var maxAttempts: Int32?
    package var reapsBadTokens: Bool?

    package init() {}

    package var isEmpty: Bool { self == AppChange() }

    func apply(to app: inout NewApp) {
        if cleared.contains(.topic) { app.topic = nil }
        if cleared.contains(.gateway) { app.gateway = nil }
        if cleared.contains(.feedbackGateway) { app.feedbackGateway = nil }
        if cleared.contains(.maxRate) { app.maxRate = nil }
        if let name { app.name = name }
        if let topic { app.topic = topic }
        if let credential { app.credential = credential }
        if let environment { app.environment = environment }
        if let `protocol` { app.protocol = `protocol` }
        if let gateway { app.gateway = gateway }
        if let feedbackGateway { app.feedbackGateway = feedbackGateway }
        if let maxRate { app.maxRate = maxRate }
        if let maxAttempts { app.maxAttempts = maxAttempts }
        if let reapsBadTokens { app.reapsBadTokens = reapsBadTokens }
        // A trust root is for a gateway that is set here.
        let hasNone = app.gateway == nil && app.feedbackGateway == nil
        if cleared.contains(.gatewayCA) || hasNone { app.gatewayCA = nil }
        if let gatewayCA { app.gatewayCA = gatewayCA }
    }
}
