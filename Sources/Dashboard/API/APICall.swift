import CarillonTLS
import CarillonText
import CarillonWeb

/// A request to a route of the API, read as far as this program reads it: the database knows the token, and reads the body.
struct APICall: Sendable {
    /// Enough for about 3,000 tokens.
    static let bodyBytes = 256 * 1024
    private static let keyBytes = 255

    /// PostgreSQL may log the parameters of a statement, so it gets the SHA-256 of the token. A logged digest is useless: a request
    /// that sends it as its token is refused.
    let digest: String
    /// Nil if the token alone names it.
    let app: String?
    /// A JSON object: the parameters of the path and the query.
    let parameters: JSONValue
    /// Valid UTF-8; nil if the route takes none.
    let body: String?
    let key: String?
    /// How long to wait for events.
    let wait: Duration

    init(_ request: Request, to route: APIRoute) throws(RequestError) {
        for name in ["Authorization", "Idempotency-Key", "Content-Type"] where request.hasSeveral(name) {
            throw .badRequest("There are several headers \(name).", hint: "Send one.")
        }
        guard let (scheme, token) = Request.authorization(request.header("Authorization")), scheme == "bearer" else {
            throw RequestError(
                status: .unauthorized,
                detail: "Send 'Authorization: Bearer TOKEN'.",
                hint: "The owner of the schema creates a token with 'carillon api-token create'."
            )
        }
        digest = Digest.sha256(Array(token.utf8).span.bytes).hexadecimal
        body = try route.members.isEmpty ? nil : Self.body(of: request)
        key = request.header("Idempotency-Key")
        if let key, !(1...Self.keyBytes).contains(key.utf8.count) {
            throw .badRequest("An Idempotency-Key has 1 to \(Self.keyBytes) bytes.", hint: "Send a key of that length.")
        }
        // What stands for bytes that are not UTF-8: different keys would be the same.
        guard key?.contains("\u{FFFD}") != true else {
            throw .badRequest("The Idempotency-Key is not valid UTF-8.", hint: "Send ASCII characters.")
        }
        var values = try Self.values(of: request, route)
        wait = try Self.wait(values.removeValue(forKey: APIRoute.wait.name))
        app = values.removeValue(forKey: "app")
        parameters = .object(
            route.parameters.compactMap { field in values[field.name].map { (field.name, field.type.value(of: $0)) } }
        )
    }

    private static func body(of request: Request) throws(RequestError) -> String {
        guard request.mediaType == "application/json" else {
            throw RequestError(
                status: .unsupportedMediaType,
                detail: "The body must be JSON.",
                hint: "Send 'Content-Type: application/json'."
            )
        }
        guard !request.body.isEmpty else {
            throw .badRequest("The request has no body.", hint: "Send a JSON object, and its length in Content-Length.")
        }
        guard let body = String(validating: request.body, as: UTF8.self) else {
            throw .badRequest("The body is not valid UTF-8.", hint: "Encode it as UTF-8.")
        }
        guard body.isCheapToCompare else {
            throw .badRequest("The body has more than 128 combining characters in a row.", hint: "Leave them out.")
        }
        guard !body.utf8.hasLongExponent else {
            throw .badRequest(
                "The body has a number whose exponent has more than three digits.",
                hint: "No argument takes so large or so small a number."
            )
        }
        return body
    }

    /// The text of each parameter.
    private static func values(of request: Request, _ route: APIRoute) throws(RequestError) -> [String: String] {
        var values = request.pathParameters
        let names = route.parameters.filter { !route.isInPath($0) }.map(\.name)
        for (name, value) in request.query {
            guard names.contains(name) else {
                throw .badRequest(
                    "There is no parameter '\(name.prefix(80))'.",
                    hint: names.isEmpty
                        ? "This route takes none." : "The parameters are: \(names.joined(separator: ", "))."
                )
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badRequest("There are several parameters '\(name)'.", hint: "Send one.")
            }
        }
        for field in route.parameters where field.isRequired && values[field.name] == nil {
            throw .badRequest(
                "The parameter '\(field.name)' is missing.",
                hint: "Add it to the address: \(route.path)?\(field.name)=…"
            )
        }
        return values
    }

    private static func wait(_ text: String?) throws(RequestError) -> Duration {
        guard let text else { return .zero }
        guard let seconds = Int64(text), (0...30).contains(seconds) else {
            throw .badRequest(
                "Argument \"wait\" takes a number of seconds from 0 to 30, got \(text.prefix(80)).",
                hint: "Leave it out for an answer at once."
            )
        }
        return .seconds(seconds)
    }
}
