import CarillonPostgres
import CarillonSchema
import CarillonTLS
import CarillonText
import CarillonWeb

/// `POST /messages`: enqueues in one transaction, for the app of a bearer token. A request with a key is enqueued once, however
/// often it is sent.
struct MessagePost: Sendable {
    /// Enough for about 3,000 tokens.
    static let bodyBytes = 256 * 1024
    private static let keyBytes = 255

    private static let statement = Statement(
        "web_post_message",
        "SELECT e.app, e.id, e.is_new FROM carillon.enqueue_with_token(decode($1, 'hex'), $2, $3) AS e"
    )

    let database: ServiceRunner
    let observer: DashboardConfiguration.Observer

    func answer(_ request: Request) async -> Response {
        do {
            return try await post(request)
        } catch {
            let problem = problem(error, request)
            return problem.status == 401 ? problem.document.adding("WWW-Authenticate", "Bearer") : problem.document
        }
    }

    private func post(_ request: Request) async throws -> Response {
        for name in ["Authorization", "Idempotency-Key", "Content-Type"] where request.hasSeveral(name) {
            throw RequestError.badRequest("There are several headers \(name): send one.")
        }
        guard let (scheme, token) = Request.authorization(request.header("Authorization")), scheme == "bearer" else {
            throw RequestError(
                status: 401,
                detail: "Send 'Authorization: Bearer TOKEN'.",
                hint: "The owner of the schema creates a token with carillon.create_api_token."
            )
        }
        guard request.mediaType == "application/json" else {
            throw RequestError(
                status: 415,
                detail: "The body must be JSON.",
                hint: "Send 'Content-Type: application/json'."
            )
        }
        guard !request.body.isEmpty else {
            throw RequestError.badRequest(
                "The request has no body.",
                hint: "Send a JSON object, and its length in Content-Length."
            )
        }
        guard let body = String(validating: request.body, as: UTF8.self) else {
            throw RequestError.badRequest("The body is not valid UTF-8.")
        }
        guard body.isCheapToCompare else {
            throw RequestError.badRequest("The body has more than 128 combining characters in a row.")
        }
        let key = request.header("Idempotency-Key")
        if let key, !(1...Self.keyBytes).contains(key.utf8.count) {
            throw RequestError.badRequest("An Idempotency-Key has 1 to \(Self.keyBytes) bytes.")
        }
        // PostgreSQL may log the parameters of a statement, so it gets the digest of the token. A logged digest is useless: a
        // request that sends it as its token is refused.
        let digest = Digest.sha256(Array(token.utf8).span.bytes).hexadecimal
        return try await database.query(Self.statement, Parameters(digest, body, key)) { rows in
            let (app, id) = (try rows.string(0, "app"), try rows.int64(0, "id"))
            let isNew = try rows.bool(0, "is_new")
            let link = Link.message(id, of: app)
            var answer: JSONValue = ["id": id, "app": app, "is_new": isNew, "see": link.text]
            let notices = rows.noticesOfIgnoredPushes
            if !notices.isEmpty { answer = .joined(answer, ["notices": notices]) }
            return Response(json: answer.text + "\n", status: isNew ? 201 : 200).adding("Location", link.text)
        }
    }

    private func problem(_ error: any Error, _ request: Request) -> RequestError {
        if let problem = error as? RequestError { return problem }
        if let error = error as? PostgresError, let state = error.statementState {
            let detail = error.message.asSentence
            let hint = error.hint?.asSentence
            if state == SQLState.unknownLogin {
                observer(.tokenRefused(request))
                return RequestError(status: 401, detail: detail, hint: hint)
            }
            if state == SQLState.duplicateObject { return RequestError(status: 422, detail: detail, hint: hint) }
            if [SQLState.badValue, SQLState.tooLarge].contains(state) { return .badRequest(detail, hint: hint) }
            // Members are checked one by one, so only the JSON text of the body itself can be at fault.
            if state.hasPrefix("22") || state == SQLState.tooDeep {
                return .badRequest(
                    ["The body cannot be read as JSON: " + detail, error.detail?.asSentence].compactMap { $0 }
                        .joined(separator: " "),
                    hint:
                        "Send one JSON object with the arguments of enqueue: docs/http.md and docs/enqueue.md describe them."
                )
            }
        }
        let explanation = Explanation(error)
        observer(.postFailed(request, explanation))
        let hint =
            if explanation.lacksRights {
                "POST /messages needs the role carillon_operator: grant it to the login of 'carillon web'."
            } else if (error as? PostgresError)?.statementState == SQLState.wrongPlace {
                "Nothing is sent from this database. To change that, the owner of the schema must run: carillon adopt"
            } else {
                "Send the request again with the same Idempotency-Key."
            }
        return RequestError(
            status: 503,
            detail: "The database cannot take the message now. The log of carillon web says why, under the reference "
                + "\(explanation.reference).",
            hint: hint
        )
    }
}
