import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonText

struct PyapnsService: Sendable {
    /// Calls with more notifications use connections of their own, so that they do not delay smaller ones.
    private static let smallCall = 200
    /// Calls with more bytes wait for each other.
    private static let smallBody = 256 * 1024

    let database: ServiceDatabase
    let largeCalls: LargeCalls
    let log: PyapnsLog
    /// The only folder whose files clients may name as certificates.
    let certificateFolder: String?
    /// Whether 'provision' adds apps.
    let adds: Bool
    /// Whether 'provision' replaces the certificates of existing apps.
    let replaces: Bool

    /// Answers a call, given the body of its request.
    func answer(_ body: [UInt8]) async -> Result<XMLRPCValue, XMLRPCFault> {
        guard body.count > Self.smallBody else { return await answerNow(body) }
        if let answer = await largeCalls.run({ await answerNow(body) }) { return answer }
        let fault = XMLRPCFault(
            .unavailable,
            "carillon pyapns is busy with other calls of more than \(Self.smallBody.grouped) bytes. The call had no effect: call "
                + "again in a moment."
        )
        log.crowded(fault, waiting: await largeCalls.waiting)
        return .failure(fault)
    }

    /// On the thread that its task prefers.
    @concurrent private func answerNow(_ body: [UInt8]) async -> Result<XMLRPCValue, XMLRPCFault> {
        do {
            return .success(try await result(of: try XMLRPCCall(body)))
        } catch {
            let fault = XMLRPCFault(explaining: error)
            log.failed(fault, error)
            return .failure(fault)
        }
    }

    private func result(of call: XMLRPCCall) async throws -> XMLRPCValue {
        var parameters = CallParameters(call)
        switch call.method {
        case "provision": return try await provision(try ProvisionCall(&parameters, folder: certificateFolder))
        case "notify": return try await notify(try NotifyCall(&parameters))
        case "feedback":
            let app = try parameters.text("app_id")
            try parameters.end()
            return try await database.query(PyapnsFeedback.statement, Parameters(app), .large, PyapnsFeedback.value)
        default:
            throw XMLRPCFault(
                .unknownMethod,
                "There is no method '\(call.method.prefix(64))': call provision, notify or feedback."
            )
        }
    }

    private func provision(_ call: ProvisionCall) async throws -> XMLRPCValue {
        let provisioning = Provisioning(
            app: call.app,
            certificate: call.certificate,
            environment: call.environment,
            adds: adds,
            replaces: replaces
        )
        let log = log.log.adding(["app": call.app])
        switch try await database.with(.small, { try await provisioning.run(on: $0) }) {
        case .nothing: log.debug("An app was provisioned without a change.")
        case .kept(let terms, let reason):
            log.write(.info, "An app was provisioned, and keeps its credential.", terms.fields + [("reason", reason)])
        case .added(let terms): log.write(.info, "An app was added.", terms.fields)
        case .changed(let earlier, let terms):
            log.write(.info, "An app was changed.", terms.fields + earlier.fields.map { ("earlier_" + $0.0, $0.1) })
        }
        return .none
    }

    private func notify(_ call: NotifyCall) async throws -> XMLRPCValue {
        let group: ServiceDatabase.Group = call.tokens.count > Self.smallCall ? .large : .small
        let (jobs, notices) = try await database.query(NotifyCall.statement, call.sqlParameters, group) { rows in
            (rows.count, rows.noticesOfSchema)
        }
        for notice in notices { log.ignored(notice, app: call.app) }
        log.log.debug("Notifications were enqueued.", ["app": call.app, "tokens": call.tokens.count, "messages": jobs])
        return .none
    }
}

extension ServiceDatabase.Group {
    fileprivate static let small = group("small", connections: 4)
    /// Large calls may take seconds, and small calls do not wait for them.
    fileprivate static let large = group("large", connections: 2)

    private static func group(_ name: String, connections: Int) -> Self {
        Self(
            name: name,
            connections: connections,
            // Clients wait 20 seconds.
            statementTimeout: .seconds(15),
            settings: SessionSettings.unhurried.with(["lock_timeout": "5s", "carillon.source": "pyapns"])
        )
    }
}

extension ServiceDatabase {
    static func pyapns(_ source: DatabaseSource, loop: EventLoop, log: Log) -> ServiceDatabase {
        ServiceDatabase(source, application: "carillon pyapns", groups: [.small, .large], loop: loop) { log.tell($0) }
    }
}

extension Provisioning.Terms {
    fileprivate var fields: [(String, any JSONConvertible)] {
        [
            ("credential", credential), ("topic", topic), ("environment", environment.rawValue),
            ("expires", notAfter.map { TimeText.seconds($0 * 1_000_000) }),
        ]
    }
}
