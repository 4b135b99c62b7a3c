import CarillonText
import CarillonWeb

/// Tells a program why its request was refused (RFC 9457).
struct ProblemDocument: Error, JSONConvertible {
    let status: Int
    let detail: String
    var hint: String?

    private var title: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
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

    var response: Response {
        Response(text: json.text + "\n", status: status, contentType: "application/problem+json")
    }

    /// The refusal: a problem document for a program, plain text for a person.
    static func refusal(of request: Request, _ status: Int, _ detail: String) -> Response {
        request.isOfProgram
            ? ProblemDocument(status: status, detail: detail).response : Response(text: detail + "\n", status: status)
    }

    static let writing: HTTPRefusal.Writing = { refusal, request in
        guard request.isOfProgram else { return refusal.response }
        return refusal.completed(ProblemDocument(status: refusal.status, detail: refusal.detail).response)
    }
}

extension Request {
    /// Whether a program sent the request, judged by its Accept and Content-Type headers.
    var isOfProgram: Bool {
        wantsJSON || mediaType == "application/json"
    }
}
