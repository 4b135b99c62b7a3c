import CarillonDashboard
import CarillonSchema
import CarillonWeb

struct WebLog: Sendable {
    private let log: Log
    private let warnings: ClientWarnings

    init(_ log: Log) {
        self.log = log
        warnings = ClientWarnings(log)
    }

    func tell(_ event: DashboardEvent) {
        switch event {
        case .loginFailed(let request):
            // `AttemptLimits` limits their number, so each address is logged. What was typed is not logged, because people type
            // passwords into the wrong field.
            warnings.warn("A login failed: the password was wrong.", "address", Self.address(of: request))
        case .loginRefused(let request): refuse("Logins are refused.", "too many passwords were wrong", request)
        case .tokenRefused(let request): refuse("Calls of the API are refused.", "an unknown token", request)
        case .refused(let request):
            log.debug(
                "A request was refused.",
                [
                    "path": request.path, "address": Self.address(of: request), "host": request.header("Host"),
                    "origin": request.header("Origin"),
                ]
            )
        case .pageFailed(let request, let error): fail("Pages cannot be shown.", request, error)
        case .changeFailed(let request, let error): fail("Changes fail.", request, error)
        case .callFailed(let request, let error): fail("Calls of the API fail.", request, error)
        case .server(let event): warnings.tell(event)
        case .database(let event): log.tell(event)
        }
    }

    private func refuse(_ message: String, _ reason: String, _ request: Request) {
        warnings.warn(message, "reason", reason, ("address", Self.address(of: request)))
    }

    private func fail(_ message: String, _ request: Request, _ error: Explanation) {
        // The server has stopped, and with it the work that the request waited for.
        guard !Task.isCancelled else { return log.debug(message, ["error": error.sentence, "path": request.path]) }
        warnings.warn(message, "error", error.sentence, ("path", request.path), ("reference", error.reference))
    }

    private static func address(of request: Request) -> String { request.peer ?? "unknown" }
}
