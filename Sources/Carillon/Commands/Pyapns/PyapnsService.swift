import CarillonPostgres
import PushQueue

/// The methods of pyapns.
struct PyapnsService: Sendable {
    let database: PyapnsDatabase
    let log: Log
    /// Whether a certificate may be named by its path. Only for clients on this machine: others would be told about its files.
    let readsFiles: Bool

    /// Answers a call, given the body of its request.
    func answer(_ body: [UInt8]) async -> Result<XMLRPCValue, XMLRPCFault> {
        do {
            return .success(try await result(of: try XMLRPCCall(body)))
        } catch {
            let fault = XMLRPCFault(explaining: error)
            log.write(
                fault.code == .unavailable ? .warning : .debug,
                "A call failed.",
                ["code": fault.code.rawValue, "fault": fault.text]
            )
            return .failure(fault)
        }
    }

    private func result(of call: XMLRPCCall) async throws -> XMLRPCValue {
        var parameters = CallParameters(call)
        switch call.method {
        case "provision": return try await provision(try ProvisionCall(&parameters, readsFiles: readsFiles))
        case "notify": return try await notify(try NotifyCall(&parameters))
        case "feedback":
            let app = try parameters.text("app_id")
            try parameters.end()
            return try await database.query(FeedbackReading.statement, Parameters(app), FeedbackReading.value)
        default:
            throw XMLRPCFault(
                .unknownMethod,
                "There is no method '\(call.method)': call provision, notify or feedback."
            )
        }
    }

    private func provision(_ call: ProvisionCall) async throws -> XMLRPCValue {
        let provisioning = Provisioning(app: call.app, certificate: call.certificate, environment: call.environment)
        let change = try await database.with { try await provisioning.run(on: $0) }
        switch change {
        case .nothing: log.debug("An app was provisioned as it is.", ["app": call.app])
        case .added: log.info("An app was added.", ["app": call.app, "environment": call.environment])
        case .changed: log.info("An app was changed.", ["app": call.app, "environment": call.environment])
        }
        return .none
    }

    private func notify(_ call: NotifyCall) async throws -> XMLRPCValue {
        let jobs = try await database.query(NotifyCall.statement, call.sqlParameters) { rows in rows.count }
        log.debug("Notifications were enqueued.", ["app": call.app, "tokens": call.tokens.count, "messages": jobs])
        return .none
    }
}
