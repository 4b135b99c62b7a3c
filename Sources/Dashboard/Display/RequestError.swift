import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Why a request was refused: a problem document (RFC 9457) for a program, a page or text for a person.
struct RequestError: Error {
    let status: ProblemStatus
    /// A sentence.
    let detail: String
    var hint: String?
    /// Whether the page may be there when it is next loaded.
    var isPassing = false

    /// With the hint.
    var text: String { hint.map { "\(detail) \($0)" } ?? detail }

    static func notFound(_ detail: String, hint: String? = nil) -> RequestError {
        RequestError(status: .notFound, detail: detail, hint: hint)
    }

    static func badRequest(_ detail: String, hint: String? = nil) -> RequestError {
        RequestError(status: .badRequest, detail: detail, hint: hint)
    }

    static func mayNotChange(_ viewer: Viewer) -> RequestError {
        RequestError(status: .forbidden, detail: "You may read but not change anything.", hint: viewer.wayToChange)
    }

    static let notMessageID = badRequest("The id of a message is the number that enqueue returned.")

    static let notForm = RequestError(
        status: .unsupportedMediaType,
        detail: "The body must contain the fields of a form.",
        hint: "Send 'Content-Type: application/x-www-form-urlencoded'."
    )

    static let foreignForm = RequestError(
        status: .forbidden,
        detail: "This form is too old, or was made for somebody else. Nothing was changed.",
        hint: "Reload the page and submit its form."
    )
}

extension RequestError {
    init(_ refusal: HTTPRefusal) {
        guard let status = ProblemStatus(rawValue: refusal.status) else {
            preconditionFailure("\(refusal.status) is not among the statuses of refusals")
        }
        self.init(status: status, detail: refusal.detail, hint: refusal.hint)
    }

    /// What a function of the schema said about an argument; nil if the error says nothing about the request.
    init?(_ error: any Error) {
        if let error = error as? RequestError {
            self = error
        } else if let error = error as? PostgresError, let state = error.statementState,
            state == SQLState.undefinedObject || SQLState.badArgument.contains(state)
        {
            let isUnknown = state == SQLState.undefinedObject
            self = (isUnknown ? Self.notFound : Self.badRequest)(error.message.asSentence, error.hint?.asSentence)
        } else {
            return nil
        }
    }

    /// Messages of PostgreSQL and libpq may contain a connection string.
    init(explaining error: Explanation, isReading: Bool = true) {
        let redactor = Redactor()
        let hint =
            error.lacksRights
            ? (isReading
                ? "'carillon web' needs the role carillon_reader: run GRANT carillon_reader TO the login that it connects with."
                : "Changes need the role carillon_operator: run GRANT carillon_operator TO the login of 'carillon web'.")
            : error.hint.map(redactor.clean)
        self.init(status: .serviceUnavailable, detail: redactor.clean(error.sentence), hint: hint, isPassing: isReading)
    }
}

extension RequestError: JSONConvertible {
    var json: JSONValue {
        ["type": "about:blank", "title": status.title, "status": status.rawValue, "detail": detail, "hint": hint]
    }

    var document: Response {
        Response(text: json.text + "\n", status: status.rawValue, contentType: "application/problem+json")
    }

    /// A problem document for a program, plain text for a person.
    func response(to request: Request) -> Response {
        request.isOfProgram ? document : Response(text: text + "\n", status: status.rawValue)
    }

    static let writing: HTTPRefusal.Writing = { refusal, request in
        refusal.completed(RequestError(refusal).response(to: request))
    }
}

extension Request {
    /// Whether a program sent the request, judged by its Accept, Content-Type and Authorization headers.
    var isOfProgram: Bool {
        wantsJSON || mediaType == "application/json"
            || Request.authorization(header("Authorization"))?.scheme == "bearer"
    }
}
