import CarillonPostgres
import CarillonText

/// The arguments of `notify`: pairs of a device token and a payload. Equal payloads become one message.
struct NotifyCall {
    /// A single statement, and thus one transaction: either all messages are enqueued or none. An unknown app is an error even if
    /// there are no messages, and so is a copy of the database.
    static let statement = Statement(
        "pyapns_notify",
        """
        WITH app AS MATERIALIZED (SELECT carillon.app_id($1), carillon.check_installation()),
        job AS MATERIALIZED (
            SELECT array_agg(t.token ORDER BY t.place) AS tokens, $4[t.payload]::json AS payload
            FROM unnest($2::text[], $3::int4[]) WITH ORDINALITY AS t(token, payload, place)
            GROUP BY t.payload ORDER BY t.payload
        )
        SELECT carillon.enqueue(app => $1, tokens => j.tokens, payload => j.payload) FROM app CROSS JOIN job j
        """
    )

    let app: String
    let tokens: [String]
    /// Each payload once, in the order of the call.
    private(set) var payloads: [String] = []
    /// For each token, the position of its payload, from 1.
    private(set) var places: [Int32] = []

    init(_ parameters: inout CallParameters) throws(XMLRPCFault) {
        app = try parameters.text("app_id")
        let token = try parameters.next("token")
        let notification = try parameters.next("notification")
        try parameters.end()
        let notifications: [XMLRPCValue]
        switch (token, notification) {
        case (.string(let token), .structure):
            (tokens, notifications) = ([token], [notification])
        // The Ruby client sends a single token in this form.
        case (.string(let token), .array(let values)):
            (tokens, notifications) = ([token], values)
        case (.array(let values), .array(let others)):
            var all: [String] = []
            for value in values {
                guard case .string(let token) = value else {
                    throw parameters.refusal(of: "token", "a string, or an array of strings", got: value.kind)
                }
                all.append(token)
            }
            (tokens, notifications) = (all, others)
        case (.string, _):
            throw parameters.refusal(of: "notification", "a struct, or an array of structs", got: notification.kind)
        case (.array, _):
            throw parameters.refusal(of: "notification", "an array, as token is one", got: notification.kind)
        default:
            throw parameters.refusal(of: "token", "a string, or an array of strings", got: token.kind)
        }
        guard tokens.count == notifications.count else {
            throw XMLRPCFault(
                .refused,
                "Tokens and notifications go in pairs: there \(tokens.count == 1 ? "is" : "are") "
                    + "\(Counted.text(Int64(tokens.count), "token")) and "
                    + "\(Counted.text(Int64(notifications.count), "notification"))."
            )
        }
        try add(notifications, parameters)
    }

    private mutating func add(_ notifications: [XMLRPCValue], _ parameters: CallParameters) throws(XMLRPCFault) {
        var known: [String: Int32] = [:]
        for notification in notifications {
            guard case .structure = notification else {
                throw parameters.refusal(of: "notification", "structs", got: notification.kind)
            }
            let payload = try notification.json().text
            let place = known[payload] ?? Int32(payloads.count + 1)
            if known.updateValue(place, forKey: payload) == nil { payloads.append(payload) }
            places.append(place)
        }
    }

    var sqlParameters: Parameters {
        let digits = tokens.map { $0.filter { $0 != " " } }
        return Parameters(app, PostgresArray(digits), PostgresArray(places), PostgresArray(payloads))
    }
}
