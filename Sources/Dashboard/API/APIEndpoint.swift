import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Answers requests to the API. Each route calls one function of the schema, for the app of the API token: carillon.call_with_token
/// checks the token, its right and the arguments.
final class APIEndpoint: Sendable {
    private static let statement = Statement(
        "web_api_call",
        """
        SELECT c.app, c.refusal, CASE WHEN c.bytes <= $10 THEN c.text END AS answer, c.is_new, c.is_empty,
            coalesce(c.bytes > $10, false) AS is_too_large, coalesce(c.is_missing, false) AS is_missing
        FROM (
            SELECT t.*, octet_length(t.text) AS bytes
            FROM (
                SELECT f.app, CASE WHEN f.app IS NULL THEN f.answer #>> '{}' END AS refusal, (f.answer #> $9)::text AS text,
                    f.is_new, f.answer -> 'events' IS NOT DISTINCT FROM '[]' AS is_empty,
                    f.answer #>> '{0,event}' = 'not found' AND f.answer #> '{0,message_id}' <> 'null' AS is_missing
                FROM carillon.call_with_token(decode($1, 'hex'), $2, $3, $4, $5, $6, $7::text::jsonb, $8) AS f OFFSET 0
            ) AS t OFFSET 0
        ) AS c
        """
    )

    private static let app = Statement(
        "web_api_app",
        "SELECT carillon.app_of_digest(decode($1, 'hex'))::text AS app"
    )

    private static let noSuchMessage = RequestError.notFound(
        "The app has no such message.",
        hint: "Messages that have ended are deleted after the workers' --retention."
    )

    private struct Result: Sendable {
        let app: String
        /// JSON; nil if the function returned no row.
        let answer: String?
        let isNew: Bool
        /// Whether it lists events, and there are none.
        let isEmpty: Bool
        /// Whether it is the trace of a message that the app does not have.
        let isMissing: Bool
        let notices: [String]
    }

    private enum Outcome: Sendable {
        case answered(Result)
        /// The token is unknown, or has expired.
        case unknown(String)
        case tooLarge
    }

    private let reading: ServiceRunner
    private let changing: ServiceRunner
    private let loop: EventLoop
    private let observer: DashboardConfiguration.Observer
    private let readingTurns = AppTurns(longestWait: .seconds(5))
    private let changingTurns = AppTurns(longestWait: .seconds(10))
    private let unknown: UnknownTokens
    private let waiting = WaitingRequests()

    init(reading: ServiceRunner, changing: ServiceRunner, _ configuration: DashboardConfiguration) {
        self.reading = reading
        self.changing = changing
        loop = configuration.loop
        unknown = UnknownTokens(configuration.access)
        observer = configuration.observer
    }

    func answer(_ request: Request, to route: APIRoute) async -> Response {
        do {
            let call = try APICall(request, to: route)
            guard unknown.mayAsk(call.digest, by: request, at: .now) else { throw UnknownTokens.tooMany }
            return try response(to: route, try await result(of: call, to: route))
        } catch {
            if let error = error as? UnknownTokens.Refusal { unknown.met(error.digest, by: request, at: .now) }
            let problem = problem(error, request, route)
            let document = problem.document
            return switch problem.status {
            case .unauthorized: document.adding("WWW-Authenticate", "Bearer")
            case .tooManyRequests: document.adding("Retry-After", "\(UnknownTokens.interval.components.seconds)")
            default: document
            }
        }
    }

    private func result(of call: APICall, to route: APIRoute) async throws -> Result {
        let end = MonotonicInstant.now + call.wait
        let holder = try await holder(of: call, to: route)
        let first = try await run(call, of: holder, route)
        guard first.isEmpty, .now < end else { return first }
        return try await waiting.with(holder) { bell in
            while true {
                let isListening = try await changing.listen(to: EventNotifications.channel) { [waiting] in
                    waiting.ring()
                }
                var pace = EventPace(askedAt: .now, isListening: isListening)
                let result = try await run(call, of: holder, route)
                guard result.isEmpty, .now < end else { return result }
                while .now < min(pace.next, end) {
                    await bell.wait(until: min(pace.next, end), on: loop)
                    try Task.checkCancellation()
                    if .now < min(pace.next, end) { pace.notified() }
                }
            }
        }
    }

    /// Who shares turns and places: the app of the token, which may have several. An unknown token has its own.
    private func holder(of call: APICall, to route: APIRoute) async throws -> String {
        if let app = unknown.app(of: call.digest) { return app }
        let (database, turns) = connections(of: route)
        let app = try await turns.with(call.digest) {
            try await database.query(Self.app, Parameters(call.digest)) { try $0.stringIfPresent(0, "app") }
        }
        guard let app else { return call.digest }
        unknown.knows(call.digest, of: app)
        return app
    }

    private func connections(of route: APIRoute) -> (ServiceRunner, AppTurns) {
        route.isReading ? (reading, readingTurns) : (changing, changingTurns)
    }

    private func run(_ call: APICall, of holder: String, _ route: APIRoute) async throws -> Result {
        let place: [String] = if case .first = route.answer { ["0"] } else { [] }
        let parameters = Parameters(
            call.digest,
            route.right.rawValue,
            route.function,
            PostgresArray(route.members.map(\.name)),
            call.app,
            call.body,
            call.parameters.text,
            call.key,
            PostgresArray(place),
            // PostgreSQL keeps a larger answer.
            Int32(AnswerLimit.maxBytes)
        )
        let (database, turns) = connections(of: route)
        let outcome: Outcome = try await turns.with(holder) {
            try await database.query(Self.statement, parameters) { rows in
                if let refusal = try rows.stringIfPresent(0, "refusal") { return .unknown(refusal) }
                guard try !rows.bool(0, "is_too_large") else { return .tooLarge }
                return .answered(
                    Result(
                        app: try rows.string(0, "app"),
                        answer: try rows.stringIfPresent(0, "answer"),
                        isNew: try rows.isNull(0, "is_new") ? false : rows.bool(0, "is_new"),
                        isEmpty: try rows.bool(0, "is_empty"),
                        isMissing: try rows.bool(0, "is_missing"),
                        notices: rows.noticesOfSchema
                    )
                )
            }
        }
        switch outcome {
        case .answered(let result): return result
        case .unknown(let reason): throw UnknownTokens.Refusal(digest: call.digest, reason: reason)
        case .tooLarge:
            throw RequestError.badRequest(
                "The answer would have more than 1 MB.",
                hint: "Ask for less: for fewer rows with n or max_rows, or for a message by its id."
            )
        }
    }

    // MARK: Answers

    private func response(to route: APIRoute, _ result: Result) throws(RequestError) -> Response {
        let value = JSONValue.json(result.answer ?? "null")
        if case .first = route.answer, result.answer == nil { throw Self.noSuchMessage }
        if result.isMissing { throw Self.noSuchMessage }
        switch route.answer {
        case .message: return message(result, value, route)
        case .object: return Response(json: value.text + "\n")
        case .member(let name, _): return Response(json: JSONValue.object([(name, value)]).text + "\n")
        case .first: return Response(json: value.text + "\n")
        case .nothing: return Response(status: 204)
        case .notices where result.notices.isEmpty: return Response(status: 204)
        case .notices:
            let answer: JSONValue = ["notices": result.notices]
            return Response(json: answer.text + "\n")
        }
    }

    private func message(_ result: Result, _ value: JSONValue, _ route: APIRoute) -> Response {
        let link = result.answer.flatMap { Int64($0) }.map { id in
            route.base.isEmpty
                ? Link.message(id, of: result.app) : Link("v1", "apps", result.app, "messages", String(id))
        }
        var answer: JSONValue = ["id": value, "app": result.app, "is_new": result.isNew, "see": link?.text]
        if !result.notices.isEmpty { answer = .joined(answer, ["notices": result.notices]) }
        let response = Response(json: answer.text + "\n", status: result.isNew ? 201 : 200)
        return link.map { response.adding("Location", $0.text) } ?? response
    }

    // MARK: Problems

    /// Whoever sends the request need not know a password, so only what functions of the schema say is shown.
    private func problem(_ error: any Error, _ request: Request, _ route: APIRoute) -> RequestError {
        if let problem = error as? RequestError {
            if problem.status == .tooManyRequests { observer(.tokenRefused(request)) }
            return problem
        }
        if let refusal = error as? UnknownTokens.Refusal {
            observer(.tokenRefused(request))
            return refusal.problem
        }
        if let error = error as? PostgresError, let state = error.statementState {
            if let problem = RequestError(ofCall: error, state, route) { return problem }
        }
        let explanation = Explanation(error)
        observer(.callFailed(request, explanation))
        let hint =
            if explanation.lacksRights {
                "The API needs the role carillon_operator: grant it to the login of 'carillon web'."
            } else if (error as? PostgresError)?.statementState == SQLState.wrongPlace {
                "Nothing is sent from this database. To change that, the owner of the schema must run: carillon adopt"
            } else if route.takesKey {
                "Send the request again with the same Idempotency-Key."
            } else {
                "Send the request again."
            }
        return RequestError(
            status: .serviceUnavailable,
            detail: "The database cannot answer now. The log of carillon web says why, under the reference "
                + "\(explanation.reference).",
            hint: hint
        )
    }
}

extension RequestError {
    /// What carillon.call_with_token, or the function that it called, said about a request; nil if the request is not at fault.
    init?(ofCall error: PostgresError, _ state: String, _ route: APIRoute) {
        let detail = error.message.asSentence
        // As carillon.refusal() words it.
        let isRefusal = error.message.hasPrefix("argument \"")
        let status: ProblemStatus? =
            switch state {
            case SQLState.lacksRight: .forbidden
            case SQLState.undefinedObject where isRefusal: .notFound
            case SQLState.duplicateObject: .unprocessableContent
            // In a copy of a database, only what enqueues is refused.
            case SQLState.wrongPlace where isRefusal || !route.takesKey: .conflict
            case SQLState.badValue, SQLState.tooLarge: .badRequest
            default: isRefusal ? .badRequest : nil
            }
        if let status {
            let hint = error.hint ?? "Correct it and send the request again: docs/sql.md describes \(route.function)."
            self.init(status: status, detail: detail, hint: hint.asSentence)
        } else if state.hasPrefix("22") || state == SQLState.tooDeep {
            // Members are checked one by one, so only the JSON text of the body itself can be at fault.
            self = .badRequest(
                ["The body cannot be read as JSON: " + detail, error.detail?.asSentence].compactMap { $0 }
                    .joined(separator: " "),
                hint:
                    "Send one JSON object with the arguments of \(route.function): docs/http.md and docs/sql.md describe them."
            )
        } else {
            return nil
        }
    }
}
