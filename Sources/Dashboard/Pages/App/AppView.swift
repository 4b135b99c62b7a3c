import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// One app: its state, what it sends, why its pushes fail, and its settings.
struct AppView: PageView {
    /// Not `AppSettings`, whose columns carillon_reader may not all read.
    struct Settings: Decodable, Sendable {
        let topics: [String]?
        let gateway: String?
        let feedbackGateway: String?
        let feedbackError: String?
        let maxRate: Int64?
        let maxPerDevice: Int64?
        let maxAttempts: Int64
        let reapBadTokens: Bool
        let keepSent: Int64?
        let quietHours: String?
        let createdAt: Moment
        let updatedAt: Moment
        let json: JSONValue
    }

    private static let settings = Statement(
        "web_app_settings",
        """
        SELECT a.topics, a.gateway, a.feedback_gateway, a.feedback_error, a.max_rate, a.max_per_device, a.max_attempts,
            a.reap_bad_tokens, extract(epoch FROM a.keep_sent)::int8 AS keep_sent,
            a.quiet_hours || ' ' || a.time_zone AS quiet_hours, a.created_at, a.updated_at
        FROM carillon.apps a WHERE a.name = $1
        """
    )

    private static let maxChanges: Int64 = 10

    let app: AppStatus
    let settings: Settings
    let span: PushCountSpan
    let buckets: [PushCounts]
    let failures: [FailureGroup]
    let followers: Followers
    let deliveries: DeliveryFunnel?
    let changes: [Change]

    init(from database: ServiceRunner, _ request: Request) async throws {
        let name = request.pathParameters["name"] ?? ""
        let span = try PushCountSpan(request)
        async let found = AppStatus.bounded(name, maxRows: 1, from: database)
        async let columns: [Settings] = database.values(of: Self.settings, Parameters(name))
        async let counts = PushCounts.read(app: name, span, from: database)
        async let groups = FailureGroup.read(
            app: name,
            reason: nil,
            within: span == .hour ? .hour : .day,
            depth: ReadDepth.read(for: name, from: database),
            from: database
        )
        async let funnel = DeliveryFunnel.read(app: name, from: database)
        async let newest = Change.newest(from: database, app: name, maxRows: Self.maxChanges)
        async let following = Followers.read(of: name, from: database)
        guard let app = try await found.first, let settings = try await columns.first else {
            throw RequestError.notFound("There is no app \(name).", hint: "It may have been renamed or removed.")
        }
        self.app = app
        self.settings = settings
        self.span = span
        buckets = try await counts
        failures = try await groups
        followers = try await following
        deliveries = try await funnel
        changes = try await newest
    }

    var title: String { app.name }
    var section: PageSection { .apps }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        notices
        Tiles(
            .init("State", app.state.rawValue, mark: app.state.mark),
            .init(
                "Sent, two minutes",
                Quantity.short(app.sentLastMinute),
                note: "this minute and the previous one",
                mark: .good
            ),
            .init(
                "Failed, last hour",
                Quantity.short(app.failedLastHour),
                note: app.failureReason.map { "mostly \($0)" },
                mark: app.failedLastHour > 0 ? .bad : .quiet
            ),
            .init(
                "Ready",
                Quantity.short(app.ready),
                note: app.oldestAge.map { "oldest waits \(DurationText.age($0))" }
            ),
            .init("Scheduled", Quantity.short(app.scheduled), note: "later, and retries"),
            .init("In flight", Quantity.short(app.inFlight))
        ).html
        span.tabs { Link("apps", app.name, query: ["over": $0]) }
        PushCountChart(buckets: buckets, span: span).html
        if !failures.isEmpty {
            FailureGroupTable(groups: failures, window: window, hasActions: viewer.mayChange, whole: withDismissed).html
        } else if buckets.allSatisfy({ $0.failed == 0 }) {
            HTML(.p, .class("note")) { "Nothing failed in \(span.text)." }
        } else {
            HTML(.p, .class("note")) {
                "All failures of \(span.text) were dismissed: "
                HTML(.a, .href(withDismissed)) { "show them" }
                "."
            }
        }
        if let deliveries { DeliverySection(funnel: deliveries).html }
        HTML(.h2) { "What follows its events" }
        if followers.isEmpty {
            HTML(.p, .class("note")) { "No webhook and no consumer: 'carillon webhook add' adds a webhook." }
        } else {
            followers.tables(withApp: false)
        }
        HTML(.h2) { "Settings" }
        facts
        if viewer.mayChange { AppControls(app: app, settings: settings, viewer: viewer).html }
        if !changes.isEmpty {
            Change.table("What was changed", changes, withApp: false)
            HTML(.p) { HTML(.a, .href(Link("changes", query: ["app": app.name]))) { "All changes" } }
        }
    }

    private var window: FailureWindow { span == .hour ? .hour : .day }

    private var withDismissed: Link {
        Link("failures", query: ["app": app.name, "since": window.rawValue, "dismissed": "1"])
    }

    @HTMLBuilder private var notices: HTML {
        if app.isPaused {
            HTML(.p, .class("notice")) {
                "This app is paused\(app.pauseReason.map { ": " + $0.asSentence } ?? ".") Send again with "
                HTML(.code) { "carillon app resume \(app.name.shellQuoted)" }
                "."
            }
        }
        if let reason = app.holdReason {
            HTML(.p, .class("notice bad")) {
                "This app cannot send: \(reason.asSentence) "
                if let since = app.heldSince {
                    "Since "
                    since.html
                    ". "
                }
                app.holdRemedy
            }
        }
        if let error = app.credentialError, error != app.holdReason {
            HTML(.p, .class("notice bad")) { "Its credential: \(error.asSentence)" }
        }
        if let error = settings.feedbackError {
            HTML(.p, .class("notice")) { "The legacy feedback list could not be read: \(error.asSentence)" }
        }
    }

    private var facts: HTML {
        FactList(
            ("Topic", app.topic.map { topic in HTML(.code) { topic } } ?? HTML("the certificate's")),
            ("Additional topics", settings.topics.map { HTML($0.joined(separator: ", ")) }),
            ("Environment", HTML(app.environment)),
            ("Protocol", HTML(app.protocol)),
            ("Gateway", HTML(settings.gateway ?? "Apple's")),
            ("Legacy feedback", settings.feedbackGateway.map { HTML($0) }),
            ("Credential", HTML(app.credential ?? "none")),
            (
                "Credential's state",
                StateMark.ofCredential(app.credentialStatus).html(app.credentialStatus?.rawValue ?? "not checked yet")
            ),
            ("Credential expires", app.credentialEnd?.html),
            ("Pushes per second", HTML(settings.maxRate.map { "at most \(Int($0).grouped)" } ?? "no limit")),
            (
                "Background pushes to a device",
                HTML(settings.maxPerDevice.map { "at most \($0) an hour" } ?? "no limit")
            ),
            ("Attempts", HTML("at most \(settings.maxAttempts)")),
            ("BadDeviceToken", HTML(settings.reapBadTokens ? "deletes the token" : "keeps the token")),
            ("Quiet hours", settings.quietHours.map { HTML($0) }),
            ("Accepted pushes", HTML(settings.keepSent.map { "kept for \(DurationText.age($0))" } ?? "not kept")),
            ("Added", settings.createdAt.html),
            ("Last changed", settings.updatedAt.html)
        ).html
    }

    var json: JSONValue {
        [
            "app": app, "settings": settings.json, "over": span.rawValue, "counts": buckets, "failures": failures,
            "failures_precision": Amount.Precision(isCut: failures.count == FailureGroup.maxRows),
            "webhooks": followers.webhooks, "webhooks_precision": followers.webhooksPrecision,
            "consumers": followers.consumers, "consumers_precision": followers.consumersPrecision,
            "deliveries": deliveries, "changes": changes,
            "changes_precision": Amount.Precision(isCut: changes.count == Int(Self.maxChanges)),
        ]
    }
}
