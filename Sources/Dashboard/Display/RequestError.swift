import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// Why a request was refused: a problem document (RFC 9457) for a program, a page or text for a person.
struct RequestError: Error {
    let status: Int
    /// A sentence.
    let detail: String
    var hint: String?
    /// Whether the page may be there when it is next loaded.
    var isPassing = false

    /// With the hint.
    var text: String { hint.map { "\(detail) \($0)" } ?? detail }

    static func notFound(_ detail: String, hint: String? = nil) -> RequestError {
        RequestError(status: 404, detail: detail, hint: hint)
    }

    static func badRequest(_ detail: String, hint: String? = nil) -> RequestError {
        RequestError(status: 400, detail: detail, hint: hint)
    }

    static func mayNotChange(_ viewer: Viewer) -> RequestError {
        RequestError(status: 403, detail: "You may read but not change anything.", hint: viewer.wayToChange)
    }

    static let notMessageID = badRequest("The id of a message is the number that enqueue returned.")

    static let notForm = RequestError(
        status: 415,
        detail: "The body must contain the fields of a form.",
        hint: "Send 'Content-Type: application/x-www-form-urlencoded'."
    )

    static let foreignForm = RequestError(
        status: 403,
        detail: "This form is too old, or was made for somebody else. Nothing was changed.",
        hint: "Reload the page and submit its form."
    )
}

extension RequestError {
    /// What a function of the schema said about an argument; nil if the error says nothing about the request.
    init?(_ error: any Error) {
        if let error = error as? RequestError {
            self = error
        } else if let error = error as? PostgresError, let state = error.statementState,
            state == SQLState.undefinedObject || SQLState.badArgument.contains(state)
        {
            let status = state == SQLState.undefinedObject ? 404 : 400
            self.init(status: status, detail: error.message.asSentence, hint: error.hint?.asSentence)
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
        self.init(status: 503, detail: redactor.clean(error.sentence), hint: hint, isPassing: isReading)
    }
}

extension RequestError: JSONConvertible {
    private var title: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        default: "Service Unavailable"
        }
    }

    var json: JSONValue {
        ["type": "about:blank", "title": title, "status": status, "detail": detail, "hint": hint]
    }

    var document: Response {
        Response(text: json.text + "\n", status: status, contentType: "application/problem+json")
    }

    /// The refusal: a problem document for a program, plain text for a person.
    static func refusal(of request: Request, _ status: Int, _ detail: String) -> Response {
        request.isOfProgram
            ? RequestError(status: status, detail: detail).document : Response(text: detail + "\n", status: status)
    }

    static let writing: HTTPRefusal.Writing = { refusal, request in
        guard request.isOfProgram else { return refusal.response }
        return refusal.completed(RequestError(status: refusal.status, detail: refusal.detail).document)
    }
}

extension Request {
    /// Whether a program sent the request, judged by its Accept, Content-Type and Authorization headers.
    var isOfProgram: Bool {
        wantsJSON || mediaType == "application/json"
            || Request.authorization(header("Authorization"))?.scheme == "bearer"
    }
}
