import CarillonWeb

/// The log of the dashboard.
struct WebLog: Sendable {
    private let log: Log
    let warnings: ClientWarnings

    init(_ log: Log) {
        self.log = log
        warnings = ClientWarnings(log)
    }

    /// Only as many as `AttemptLimit` allows, so each address is named. What was typed is not: a password gets into the wrong field.
    func loginFailed(_ request: Request) {
        warnings.warn("A login failed: the password was wrong.", "address", Self.address(of: request))
    }

    func loginRefused(_ request: Request) {
        let reason = "too many passwords were wrong"
        warnings.warn("Logins are refused.", "reason", reason, ("address", Self.address(of: request)))
    }

    func tokenRefused(_ request: Request) {
        warnings.warn("Messages are refused.", "reason", "an unknown token", ("address", Self.address(of: request)))
    }

    /// By its headers.
    func refused(_ request: Request) {
        log.debug(
            "A request was refused.",
            [
                "path": request.path, "address": Self.address(of: request), "host": request.header("Host"),
                "origin": request.header("Origin"),
            ]
        )
    }

    func failed(_ request: Request, _ error: CommandError) { fail("Pages cannot be shown.", request, error) }

    func changeFailed(_ request: Request, _ error: CommandError) { fail("Changes fail.", request, error) }

    func postFailed(_ request: Request, _ error: CommandError) { fail("Messages cannot be enqueued.", request, error) }

    private func fail(_ message: String, _ request: Request, _ error: CommandError) {
        // The server has stopped, and with it what the request waited for.
        guard !Task.isCancelled else { return log.debug(message, ["error": error.sentence, "path": request.path]) }
        warnings.warn(message, "error", error.sentence, ("path", request.path))
    }

    private static func address(of request: Request) -> String { request.peer ?? "unknown" }
}
