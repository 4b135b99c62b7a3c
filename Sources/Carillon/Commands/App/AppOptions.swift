import ApplePush
import CarillonPushQueue
import CarillonTLS

/// The options that describe an app, for `app add` and `app set`, and what they change. An option that nothing else names is
/// defined here.
struct AppOptions {
    private static let identity = [
        AppOption(.rename, \.name) { $0.text($1) ?? "" },
        AppOption(.topic, clearable: \.topic) { $0.text($1) },
        AppOption(.credential, \.credential) { $0.text($1) },
    ]
    private static let others = [
        AppOption(Option("topics", .text("TOPIC,TOPIC")), clearable: \.topics) {
            $0.text($1).map(Option.Separator.comma.split)
        }
        .help(
            """
            Additional topics that messages may name; replaces the previous list. Apps that share a signing key can reach each \
            other's devices only through this list.
            """
        ),
        AppOption(.environment, \.environment) { $0.choice($1) ?? .production },
        AppOption(.gateway, clearable: \.gateway, address),
        AppOption(.gatewayCA, clearable: \.gatewayCA) { try $0.text($1).map(rootCertificate) },
        AppOption(.feedbackGateway, clearable: \.feedbackGateway) {
            $0.text($1) == "none" ? nil : try address(in: $0, $1)
        },
        AppOption(.channelGateway, clearable: \.channelGateway, address),
        AppOption("both-environments", \.bothEnvironments)
            .help(
                """
                Device tokens may also belong to the other Apple environment: each is sent where its row of tokens says, and tried \
                once in the other if it fails as BadDeviceToken.
                """
            ),
        AppOption(.otherGateway, clearable: \.otherGateway, address),
        AppOption("remove-unknown-channels", \.removeUnknownChannels)
            .help(
                """
                Remove channels that exist at Apple but not in this database, a day after they were first seen. Use it only if \
                nothing else creates channels for the app.
                """
            ),
        AppOption(Option("protocol", .choice(protocols), default: "http2"), \.protocol) { $0.choice($1) ?? .http2 }
            .help("The protocol; binary is the legacy one, for a private gateway with a certificate."),
        AppOption("max-rate", upTo: 10_000_000, clearable: \.maxRate)
            .help("Maximum number of pushes a second, for all workers together."),
        AppOption("max-per-device", upTo: 1_000, clearable: \.maxPerDevice)
            .help(
                """
                Maximum number of background pushes an hour to one device token. Further pushes wait, and a newer one with the \
                same meaning replaces a waiting one.
                """
            ),
        AppOption("max-attempts", upTo: 1_000, \.maxAttempts)
            .help("Maximum number of attempts for one push (default 10)."),
        AppOption("reap-bad-tokens", \.reapBadTokens)
            .help(
                "Also delete tokens that fail as BadDeviceToken, unless most pushes fail with it, as in the wrong environment."
            ),
        AppOption("collapse-unknown", \.collapseUnknown)
            .help(
                "Retry a push whose outcome is unknown with its apns-id as collapse id, unless it has a collapse id."
            ),
        AppOption("keep-unique-ids", \.keepUniqueIDs)
            .help(
                "Keep the apns-unique-id that APNs sends in the sandbox and for broadcasts to channels, by which Apple's push "
                    + "console finds a push."
            ),
        AppOption(Option("keep-sent", .duration(.seconds(3_600) ... .seconds(315_360_000))), clearable: \.keepSent) {
            $0.durationIfAny($1)?.components.seconds
        }
        .help(
            "How long to keep the device token of each push that APNs accepted, for 'carillon trace'; 7d, for example."
        ),
        AppOption(Option("time-zone", .text("ZONE")), clearable: \.timeZone) { $0.text($1) }
            .help("The time zone of --quiet-hours, and of tokens without one in a broadcast at a local time."),
        AppOption(Option("quiet-hours", .text("FROM-TO")), clearable: \.quietHours) { $0.text($1) }
            .help("When alerts and background pushes wait, by the clocks of --time-zone; 22:00-07:00, for example."),
        AppOption("quiet-priority", upTo: 10, \.quietPriority)
            .help("The highest priority that waits: 1, 5 (default) or 10. A push without a priority counts as 5."),
    ]
    private static let protocols = AppSettings.GatewayProtocol.allCases.map(\.rawValue)

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

    /// The text of the file, if it has a root certificate.
    static func rootCertificate(_ path: String) throws -> String {
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

    private(set) var option: Option
    /// Reads what was given.
    let change: @Sendable (Settings) throws -> Change
    /// Nil if the setting always has a value.
    let clear: Change?

    init<Value: Sendable>(
        _ option: Option,
        _ path: any Path<Value>,
        _ read: @escaping @Sendable (Settings, Option) throws -> Value,
        clear: Change? = nil
    ) {
        self.option = option
        self.clear = clear
        change = { settings in
            let value = try read(settings, option)
            return { $0[keyPath: path] = value }
        }
    }

    init<Value: Sendable>(
        _ option: Option,
        clearable path: any Path<Value?>,
        _ read: @escaping @Sendable (Settings, Option) throws -> Value?
    ) {
        self.init(option, path, read, clear: { $0[keyPath: path] = nil })
    }

    /// A setting that is on or off.
    init(_ flag: String, _ path: any Path<Bool>) { self.init(Option(flag, .flag), path) { $0.isOn($1) } }

    /// A number from 1.
    init(_ flag: String, upTo last: Int, _ path: any Path<Int32>) {
        self.init(Option(flag, .count(1...last)), path) { Int32($0.count($1)) }
    }

    init(_ flag: String, upTo last: Int, clearable path: any Path<Int32?>) {
        self.init(Option(flag, .count(1...last)), clearable: path) { Int32($0.count($1)) }
    }

    /// The same with this text in `--help`.
    func help(_ text: String) -> AppOption {
        var described = self
        described.option = option.help(text)
        return described
    }
}
