import CarillonWeb

/// A route of the API. The handler, the checks of a request, the OpenAPI document and the list in docs/http.md are made from it. All
/// are in `APIRoute+All.swift`.
struct APIRoute: Sendable {
    /// What an API token allows.
    enum Right: String, CaseIterable, Sendable {
        case send, read, tokens
        /// Erases history, which no other right changes. So no token erases a person unless it was made for that.
        case forget
    }

    enum AnswerShape: Sendable {
        /// The id of a message, and whether the request has enqueued it.
        case message
        /// The result of the function is an object.
        case object(APIType)
        /// The result is a member of the answer.
        case member(String, APIType)
        /// The first row of the result; 404 without one.
        case first(APIType)
        case nothing
        /// What the database noticed, if anything.
        case notices
    }

    /// The path of the app, with which most routes begin.
    static let appPath = "/v1/apps/{app}"
    /// The parameter with which a client waits for events. No function has it.
    static let wait = APIField("wait", .range(0...30))

    /// For programs: `operationId`.
    let name: String
    let method: CarillonWeb.Method
    /// Below `base`.
    let path: String
    let right: Right
    let summary: String
    /// The function of the schema that it calls, with the app, the parameters and the members as arguments.
    let function: String
    /// Those that stand in the path, in braces, and those of the query.
    var parameters: [APIField] = []
    var members: [APIField] = []
    let answer: AnswerShape
    /// With what it may be refused, unlike most routes.
    var refusals: Set<ProblemStatus> = []
    var base = Self.appPath

    var fullPath: String { base + path }

    /// A function that waits for events locks what it returns, which no standby can.
    var isReading: Bool { method == .get && !waits }

    var waits: Bool { parameters.contains { $0.name == Self.wait.name } }

    var takesKey: Bool { members.contains { $0.name == "dedupe_key" } }

    /// The statuses with which requests that reach it may be refused.
    var problems: [ProblemStatus] {
        var found = refusals.union([
            .badRequest, .unauthorized, .forbidden, .contentTooLarge, .uriTooLong, .headersTooLarge,
            .tooManyRequests, .serviceUnavailable,
        ])
        if !members.isEmpty { found.insert(.unsupportedMediaType) }
        if takesKey { found.insert(.unprocessableContent) }
        return ProblemStatus.allCases.filter(found.contains)
    }

    func isInPath(_ field: APIField) -> Bool { path.contains("{\(field.name)}") }
}
