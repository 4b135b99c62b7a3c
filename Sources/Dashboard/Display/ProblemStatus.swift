/// The statuses with which requests are refused. docs/http.md lists them, and the OpenAPI document those of each route.
enum ProblemStatus: Int, CaseIterable, Sendable {
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case conflict = 409
    case contentTooLarge = 413
    case uriTooLong = 414
    case unsupportedMediaType = 415
    case unprocessableContent = 422
    case tooManyRequests = 429
    case headersTooLarge = 431
    case serviceUnavailable = 503

    var title: String {
        switch self {
        case .badRequest: "Bad Request"
        case .unauthorized: "Unauthorized"
        case .forbidden: "Forbidden"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .conflict: "Conflict"
        case .contentTooLarge: "Content Too Large"
        case .uriTooLong: "URI Too Long"
        case .unsupportedMediaType: "Unsupported Media Type"
        case .unprocessableContent: "Unprocessable Content"
        case .tooManyRequests: "Too Many Requests"
        case .headersTooLarge: "Request Header Fields Too Large"
        case .serviceUnavailable: "Service Unavailable"
        }
    }

    /// What it means, in Markdown.
    var meaning: String {
        switch self {
        case .badRequest:
            "a parameter, a member, a header or the path is invalid or missing, or has more than 128 combining characters in "
                + "a row; there are more than 64 parameters; or the answer would have more than 1 MB"
        case .unauthorized: "the API token is missing, unknown or expired; or a page needs a password"
        case .forbidden:
            "the API token lacks the right, or is for another app; `Host` is not a name of the dashboard; the request comes from "
                + "another site or bypasses the trusted proxy; the proxy names no user; the password is wrong; or the viewer may "
                + "not change anything: `hint` says who may"
        case .notFound: "there is no such message, app, webhook, channel, consumer or page"
        case .methodNotAllowed: "the path does not take this method: `Allow` lists the methods that it takes"
        case .conflict:
            "the channel is not ready or is being removed; or the history of the app is still being moved here"
        case .contentTooLarge: "the body has more than 256 KB"
        case .uriTooLong: "the path and the query have more than 8 KB"
        case .unsupportedMediaType:
            "the body has the wrong type: a call of the API takes `application/json`, a form takes its fields"
        case .unprocessableContent:
            "an earlier request had the same `Idempotency-Key` or `key`, with another body or on another route"
        case .tooManyRequests: "too many wrong passwords or unknown API tokens: `Retry-After` says how long to wait"
        case .headersTooLarge:
            "the request line and all headers have more than 32 KB; cookies count twice, and each header, cookie and parameter "
                + "as 64 bytes more"
        case .serviceUnavailable:
            "the database is unreachable or busy, or refuses the statement (`detail` says which, and for the API the log); "
                + "`carillon web` is stopping; 32 pages are live already; too many large bodies arrive at once; 32 requests "
                + "wait for events already, or 16 of the same app; or a call has waited too long for others of its app"
        }
    }
}
