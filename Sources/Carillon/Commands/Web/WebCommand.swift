import CarillonDashboard
import CarillonIO

extension Command {
    static let web = Command(
        "web",
        roles: ["carillon_reader"],
        summary: "Serve a dashboard: what waits, what was sent, what failed and why.",
        discussion: """
            Serves pages for browsers, and the same data as JSON for requests with 'Accept: application/json'. While the database
            cannot be reached, each page says so, and the dashboard reconnects. With several databases, the first page lists them.

            Reading requires a login with the role carillon_reader; a standby suffices. People who are allowed by
            --operator-password-file, --local-changes or --operator can pause apps, set limits, cancel, requeue and send test
            pushes; for this, the login also needs the role carillon_operator, and carillon.audit records each change. With that
            role, programs with an API token can also use the HTTP API: see docs/http.md.

            Listens on this machine only, unless --http names another address and there is a password or a trusted proxy. It
            speaks HTTP without TLS: on a network that others can read, put a proxy with TLS in front of it. SIGTERM ends it.
            """,
        options: [.webHTTP] + WebAccess.rights + [.databases],
        examples: [
            "carillon web --database postgresql://localhost/shop",
            "carillon web --database postgresql://db1/shop --database postgresql://db2/news",
            "carillon web --http 0.0.0.0:9465 --password-file readers.txt --operator-password-file operators.txt",
            "carillon web --trusted-proxy 127.0.0.1 --public-host dashboard.example.org --user-header X-Auth-User --operator anna",
        ],
        isService: true,
        run: { try await WebCommand(invocation: $0).run() }
    )
}

private struct WebCommand {
    /// How long requests in progress may take after the request to stop.
    private static let drainTimeout = Duration.seconds(5)

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let (settings, log) = (invocation.settings, invocation.console.log)
        guard let address = settings.address(.webHTTP) else { preconditionFailure("--http has a default") }
        return try await EventLoop.with(name: "command") { loop in
            let service = try DashboardService(
                settings,
                databases: settings.databases,
                at: address,
                loop: loop,
                log: log
            )
            return try await Cleanup.after({ await service.stop() }) {
                try await invocation.manager.watching(loop) {
                    try await Interruption.wait(on: loop) {
                        try service.start(log)
                        invocation.manager.tellReady()
                    }
                    invocation.manager.tellStopping()
                    await service.drain(on: loop, within: Self.drainTimeout)
                    return .done
                }
            }
        }
    }
}
