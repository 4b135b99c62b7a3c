import CarillonHTTPClient
import CarillonIO
import CarillonText

extension Command {
    static let metricsFetch = Command(
        "metrics fetch",
        roles: ["carillon_worker"],
        summary: "Ask Apple what became of accepted pushes, and store it.",
        discussion: """
            Requests an export of the days until yesterday for each export token that 'metrics set-token' has stored, waits until
            Apple has made it, and stores what it says. A later export may say more of the same days, so run it once a day. If
            Apple needs longer than --wait, the next run takes the export.

            The token is sent to --service alone, and redirects are not followed. Only public addresses are asked, over https.
            With --allow-private, the service may have an address of this machine or of a private network and use http, as
            'carillon simulator' does, and the file must be there too.
            """,
        options: [
            .app.help("The app; by default, all that have an export token."), .exportedSince, .exportWait, .service,
            .allowPrivate.help(
                "Let the service have an address of this machine or of a private network, and use http."
            ),
            .receiverCA.help("The root certificate (PEM) to trust for the service, instead of the system's."),
            .exportProxy, .database,
        ],
        exits: [.failed: "A line was refused, or an answer is wrong.", .tryAgain: "Apple has not made an export yet."],
        examples: [
            "carillon metrics fetch", "carillon metrics fetch --app acme --since 7d",
            "carillon metrics fetch --service http://127.0.0.1:9000 --allow-private",
        ],
        run: { invocation in
            let client = HTTPClient(proxy: invocation.settings.text(.exportProxy))
            defer { client.stop() }
            return try await DatabaseScope.with(invocation) { connection, loop in
                let store = MetricsStore(connection: connection)
                let fetch = try MetricsFetch(invocation, store, client, on: loop)
                return try await Interruption.cancelling(on: loop) {
                    try await withTaskCancellationHandler {
                        try await fetch.run()
                    } onCancel: {
                        client.stop()
                    }
                }
            }
        }
    )
}

private struct MetricsFetch: Sendable {
    /// Apple exports no earlier days.
    private static let maxDays: Int64 = 30

    private let invocation: Invocation
    private let store: MetricsStore
    private let client: ExportClient
    private let days: Int64
    private let now = WallClock.microseconds

    init(_ invocation: Invocation, _ store: MetricsStore, _ client: HTTPClient, on loop: EventLoop) throws {
        let settings = invocation.settings
        let allowsPrivate = settings.isOn(.allowPrivate)
        guard let service = ServiceURL(settings.required(.service)), service.isOrigin,
            service.isEncrypted || allowsPrivate
        else {
            throw UsageError("--service takes a URL such as \(ExportClient.service); http needs --allow-private.")
        }
        days = settings.duration(.exportedSince).components.seconds / 86_400
        guard (2...Self.maxDays).contains(days) else { throw UsageError("--since takes 2d to \(Self.maxDays)d.") }
        (self.invocation, self.store) = (invocation, store)
        self.client = ExportClient(
            client: client,
            service: service,
            roots: try settings.text(.receiverCA).map(AppOptions.rootCertificate),
            allowsPrivate: allowsPrivate,
            wait: settings.duration(.exportWait),
            loop: loop
        )
    }

    func run() async throws -> ExitStatus {
        let app = invocation.settings.text(.app)
        let tokens = try await store.tokens(of: app)
        guard !tokens.isEmpty else {
            let sentence = app.map { "The app \($0) has no export token." } ?? "No app has an export token."
            throw CommandError(.configuration, sentence, hint: "Store one: 'carillon metrics set-token APP'.")
        }
        var status = ExitStatus.done
        for token in tokens {
            do {
                if try await fetch(token) > 0, status == .done { status = .failed }
            } catch {
                // One token that Apple refuses keeps no other app from its metrics.
                if tokens.count == 1 || Task.isCancelled { throw error }
                let failure = CommandError(explaining: error)
                invocation.console.report(failure, isService: false)
                if status == .done { status = failure.status }
            }
        }
        return status
    }

    /// Returns how many lines were refused.
    private func fetch(_ token: MetricsStore.ExportToken) async throws -> Int {
        let today = DayText.of(now)
        let (first, last) = (TimeText.day(today - days * DayText.length), TimeText.day(today - DayText.length))
        var file = try await client.file(for: token, from: first, to: last)[...]
        let work = MetricsImport(app: token.app, store: store, console: invocation.console, now: now)
        let tally = try await work.run {
            defer { file = [] }
            return file
        }
        invocation.console.print("\(first) to \(last): \(work.conclude(tally))")
        return tally.refused
    }
}
