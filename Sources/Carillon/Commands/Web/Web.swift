import CarillonIO
import CarillonTLS
import CarillonWeb

extension Command {
    static let web = Command(
        "web",
        summary: "Serve a dashboard: what waits, what was sent, what failed and why.",
        discussion:
            "Pages for a browser, and the same as JSON for requests with 'Accept: application/json'. It only reads, and takes a "
            + "login with the role carillon_reader; a standby will do. Listens on this machine only, unless --http names another "
            + "address and a password is set, which a browser asks for. It speaks HTTP without TLS: put a proxy in front of it "
            + "if the network is not yours. It starts while the database cannot be reached, says so on each page, and connects "
            + "again. SIGTERM ends it.",
        options: [.webHTTP, .password, .showTokens, .database],
        examples: [
            "carillon web --database postgresql://localhost/shop",
            "carillon web --http 0.0.0.0:9465 --password-file password.txt",
        ],
        isService: true,
        run: { try await Web(invocation: $0).run() }
    )
}

private struct Web {
    /// Requests under way when it is told to end have this long.
    private static let drainTimeout = Duration.seconds(5)

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let (settings, log) = (invocation.settings, invocation.console.log)
        guard let address = settings.address(.webHTTP) else { preconditionFailure("--http has a default") }
        let access = try access(to: address)
        return try await LoopScope.with { loop in
            let database = WebDatabase(settings.database, loop: loop, log: log)
            let server = Dashboard(
                database: database,
                access: access,
                tokens: TokenDisplay(isWhole: settings.isOn(.showTokens)),
                log: log
            )
            .server(at: address)
            return try await Cleanup.after({
                server.stop()
                await database.close()
            }) {
                try await Interruption.wait(on: loop) {
                    try server.start()
                    let here = Address(host: address.host == "0.0.0.0" ? "127.0.0.1" : address.host, port: server.port)
                    log.info("The dashboard is served.", ["address": "http://\(here)/", "port": server.port])
                }
                await server.drain(on: loop, within: Self.drainTimeout)
                return .done
            }
        }
    }

    private func access(to address: Address) throws(UsageError) -> WebAccess {
        let password = invocation.settings.text(.password)
        if let password, password.utf8.count < 8 {
            throw UsageError("A password has 8 characters at least: make one with 'openssl rand -base64 18'.")
        }
        guard password != nil || Address.isLoopback(address.host) else {
            throw UsageError(
                "With --http \(address), other machines could read the dashboard: set a password, and name its file with "
                    + "--password-file."
            )
        }
        return WebAccess(password: password.map { DerivedPassword($0) })
    }
}
