import ApplePush
import CarillonPushQueue
import CarillonTLS

/// The options that describe an app, for `app add` and `app set`, and what they change.
struct AppOptions {
    static let all: [Option] = [
        .topics, .environment, .gateway, .gatewayCA, .feedbackGateway, .channelGateway, .removeUnknownChannels,
        .protocol,
        .maxRate,
        .maxPerDevice, .maxAttempts, .reapBadTokens, .collapseUnknown, .keepUniqueIDs,
    ]
    static let changes: [Option] = [.rename, .topic, .credential] + all + [.clear]
    private static let none = "none"
    static let clearable: [Option] = [
        .topic, .topics, .gateway, .gatewayCA, .feedbackGateway, .channelGateway, .maxRate, .maxPerDevice,
    ]

    private let settings: Settings
    private let gateway: String?
    private let feedbackGateway: String?
    private let channelGateway: String?
    private let clearsFeedbackGateway: Bool
    /// The PEM text of the root certificate.
    private let gatewayCA: String?

    init(_ settings: Settings) throws {
        self.settings = settings
        gateway = try Self.address(.gateway, in: settings)
        channelGateway = try Self.address(.channelGateway, in: settings)
        let hasNoFeedback = settings.isChosen(.feedbackGateway) && settings.text(.feedbackGateway) == Self.none
        clearsFeedbackGateway = hasNoFeedback
        feedbackGateway = hasNoFeedback ? nil : try Self.address(.feedbackGateway, in: settings)
        gatewayCA = try settings.text(.gatewayCA).map(Self.rootCertificate)
    }

    /// Changes the settings whose options were given.
    func apply(to app: inout AppSettings) {
        let cleared = settings.isChosen(.clear) ? settings.texts(.clear) : []
        func isCleared(_ option: Option) -> Bool { cleared.contains(option.flag) }
        if isCleared(.topic) { app.topic = nil }
        if isCleared(.topics) { app.topics = nil }
        if isCleared(.gateway) { app.gateway = nil }
        if clearsFeedbackGateway || isCleared(.feedbackGateway) { app.feedbackGateway = nil }
        if isCleared(.channelGateway) { app.channelGateway = nil }
        if isCleared(.maxRate) { app.maxRate = nil }
        if isCleared(.maxPerDevice) { app.maxPerDevice = nil }
        if settings.isChosen(.rename) { app.name = settings.text(.rename) ?? app.name }
        app.topic = settings.text(.topic) ?? app.topic
        app.topics = settings.text(.topics).map(Option.Separator.comma.split) ?? app.topics
        app.credential = settings.text(.credential) ?? app.credential
        if settings.isChosen(.environment) { app.environment = settings.choice(.environment) ?? app.environment }
        if settings.isChosen(.protocol) { app.protocol = settings.choice(.protocol) ?? app.protocol }
        app.gateway = gateway ?? app.gateway
        app.feedbackGateway = feedbackGateway ?? app.feedbackGateway
        app.channelGateway = channelGateway ?? app.channelGateway
        if settings.isChosen(.removeUnknownChannels) {
            app.removeUnknownChannels = settings.isOn(.removeUnknownChannels)
        }
        app.maxRate = settings.countIfAny(.maxRate).map(Int32.init) ?? app.maxRate
        app.maxPerDevice = settings.countIfAny(.maxPerDevice).map(Int32.init) ?? app.maxPerDevice
        app.maxAttempts = settings.countIfAny(.maxAttempts).map(Int32.init) ?? app.maxAttempts
        if settings.isChosen(.reapBadTokens) { app.reapBadTokens = settings.isOn(.reapBadTokens) }
        if settings.isChosen(.keepUniqueIDs) { app.keepUniqueIDs = settings.isOn(.keepUniqueIDs) }
        if settings.isChosen(.collapseUnknown) { app.collapseUnknown = settings.isOn(.collapseUnknown) }
        // A root certificate belongs to a gateway that is set.
        let hasNone = app.gateway == nil && app.feedbackGateway == nil && app.channelGateway == nil
        app.gatewayCA = gatewayCA ?? (hasNone || isCleared(.gatewayCA) ? nil : app.gatewayCA)
    }

    private static func address(_ option: Option, in settings: Settings) throws -> String? {
        guard let text = settings.text(option) else { return nil }
        do {
            return try Gateway(text).description
        } catch {
            throw UsageError("--\(option.flag) takes an address such as localhost:2197, not '\(text)'.")
        }
    }

    private static func rootCertificate(_ path: String) throws -> String {
        let text = try SmallFile.read(path).text
        do {
            _ = try TLSContext.client(trust: .pem(text))
        } catch {
            throw CommandError(
                .configuration,
                "The file \(path) holds no root certificate in PEM: \(error.message)",
                hint:
                    "A root certificate begins with -----BEGIN CERTIFICATE-----; 'carillon simulator --ca-out FILE' writes one."
            )
        }
        return text
    }

    /// Warns if APNs will refuse what the app sends.
    static func warn(_ console: Console, of app: App, with credential: StoredCredential?) {
        for mismatch in credential?.mismatches(with: app) ?? [] { console.warn(mismatch) }
        guard app.protocol == .binary, app.gateway == nil else { return }
        console.warn(
            "Apple has switched off the binary protocol, so the app \(app.name) sends nothing: give it a gateway that speaks "
                + "the protocol (--gateway), or set --protocol http2."
        )
    }
}
