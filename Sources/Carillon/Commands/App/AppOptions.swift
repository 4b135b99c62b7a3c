import ApplePush
import CarillonPushQueue
import CarillonTLS

/// The options that describe an app, for `app add` and `app set`, and what they change.
struct AppOptions {
    private static let identity = [
        AppOption(.rename, \.name) { $0.text($1) ?? "" },
        AppOption(.topic, clearable: \.topic) { $0.text($1) },
        AppOption(.credential, \.credential) { $0.text($1) },
    ]
    private static let others = [
        AppOption(.topics, clearable: \.topics) { $0.text($1).map(Option.Separator.comma.split) },
        AppOption(.environment, \.environment) { $0.choice($1) ?? .production },
        AppOption(.gateway, clearable: \.gateway, address),
        AppOption(.gatewayCA, clearable: \.gatewayCA) { try $0.text($1).map(rootCertificate) },
        AppOption(.feedbackGateway, clearable: \.feedbackGateway) {
            $0.text($1) == "none" ? nil : try address(in: $0, $1)
        },
        AppOption(.channelGateway, clearable: \.channelGateway, address),
        AppOption(.removeUnknownChannels, \.removeUnknownChannels) { $0.isOn($1) },
        AppOption(.protocol, \.protocol) { $0.choice($1) ?? .http2 },
        AppOption(.maxRate, clearable: \.maxRate) { Int32($0.count($1)) },
        AppOption(.maxPerDevice, clearable: \.maxPerDevice) { Int32($0.count($1)) },
        AppOption(.maxAttempts, \.maxAttempts) { Int32($0.count($1)) },
        AppOption(.reapBadTokens, \.reapBadTokens) { $0.isOn($1) },
        AppOption(.collapseUnknown, \.collapseUnknown) { $0.isOn($1) },
        AppOption(.keepUniqueIDs, \.keepUniqueIDs) { $0.isOn($1) },
    ]

    static let all = others.map(\.option)
    static let clearable = (identity + others).filter { $0.clear != nil }.map(\.option)
    static let changes = (identity + others).map(\.option) + [.clear]

    private let changes: [AppOption.Change]
    private let setsGatewayCA: Bool

    init(_ settings: Settings) throws {
        let table = Self.identity + Self.others
        let cleared = settings.isChosen(.clear) ? settings.texts(.clear) : []
        changes =
            table.filter { cleared.contains($0.option.flag) }.compactMap(\.clear)
            + (try table.filter { settings.isChosen($0.option) }.map { try $0.change(settings) })
        setsGatewayCA = settings.isChosen(.gatewayCA)
    }

    /// Changes the settings whose options were given.
    func apply(to app: inout AppSettings) {
        for change in changes { change(&app) }
        // A root certificate belongs to a gateway that is set.
        let hasNone = app.gateway == nil && app.feedbackGateway == nil && app.channelGateway == nil
        if hasNone, !setsGatewayCA { app.gatewayCA = nil }
    }

    @Sendable private static func address(in settings: Settings, _ option: Option) throws -> String? {
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
                "The file \(path) has no root certificate in PEM: \(error.message)",
                hint:
                    "A root certificate begins with -----BEGIN CERTIFICATE-----; 'carillon simulator --ca-out FILE' writes one."
            )
        }
        return text
    }

    /// Warns if APNs will refuse what the app sends.
    static func warn(_ console: Console, of app: App, with credential: StoredCredential?) {
        for mismatch in credential?.mismatches(with: app) ?? [] { console.warn(mismatch) }
        guard app.settings.protocol == .binary, app.settings.gateway == nil else { return }
        console.warn(
            "Apple has switched off the binary protocol, so the app \(app.name) sends nothing: give it a gateway that speaks "
                + "the protocol (--gateway), or set --protocol http2."
        )
    }
}

/// An option, and the setting that it changes.
private struct AppOption: Sendable {
    typealias Change = @Sendable (inout AppSettings) -> Void
    typealias Path<Value> = WritableKeyPath<AppSettings, Value> & Sendable

    let option: Option
    /// Reads what was given.
    let change: @Sendable (Settings) throws -> Change
    /// Nil if the setting always has a value.
    let clear: Change?

    init<Value: Sendable>(
        _ option: Option,
        _ path: any Path<Value>,
        _ read: @escaping @Sendable (Settings, Option) throws -> Value
    ) {
        self.init(option, path, clear: nil, read)
    }

    init<Value: Sendable>(
        _ option: Option,
        clearable path: any Path<Value?>,
        _ read: @escaping @Sendable (Settings, Option) throws -> Value?
    ) {
        self.init(option, path, clear: { $0[keyPath: path] = nil }, read)
    }

    private init<Value: Sendable>(
        _ option: Option,
        _ path: any Path<Value>,
        clear: Change?,
        _ read: @escaping @Sendable (Settings, Option) throws -> Value
    ) {
        self.option = option
        self.clear = clear
        change = { settings in
            let value = try read(settings, option)
            return { $0[keyPath: path] = value }
        }
    }
}
