import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// What a message says, for those who may see it.
enum MessageContents: Sendable {
    /// Empty: it is not kept.
    case kept([Payload])
    /// The login at PostgreSQL lacks the right.
    case denied

    struct Payload: RowReadable, JSONConvertible {
        let state: String
        let pushType: String
        let topic: String?
        /// Nil: every device gets it.
        let token: String?
        let text: String

        init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
            state = try rows.string(row, "state")
            pushType = try rows.string(row, "push_type")
            topic = try rows.stringIfPresent(row, "topic")
            token = try rows.stringIfPresent(row, "token")
            text = try rows.string(row, "payload")
        }

        var json: JSONValue {
            ["state": state, "push_type": pushType, "topic": topic, "token": token, "payload": text]
        }
    }

    private static let statement = Statement(
        "web_message_contents",
        "SELECT c.state, c.push_type, c.topic, c.token, c.payload FROM carillon.message_contents($1, $2) AS c"
    )

    static func of(_ message: MessageProgress, from database: WebDatabase) async throws -> MessageContents {
        do {
            return .kept(try await database.values(of: statement, Parameters(message.id, message.app)))
        } catch let error as PostgresError where error.sqlState == SQLState.insufficientPrivilege {
            return .denied
        }
    }

    @HTMLBuilder var html: HTML {
        HTML(.h2) { "What it says" }
        switch self {
        case .denied:
            HTML(.p, .class("note")) {
                "The login of this dashboard may not read payloads: run GRANT EXECUTE ON FUNCTION carillon.message_contents TO it."
            }
        case .kept(let payloads):
            if payloads.isEmpty {
                HTML(.p, .class("note")) {
                    "No longer kept: a payload is deleted once it is sent, or with the failure that it belongs to."
                }
            }
            for payload in payloads {
                HTML(.p, .class("note")) {
                    "\(payload.pushType), \(Counted.text(Int64(payload.text.utf8.count), "byte"))"
                    if let topic = payload.topic { ", topic \(topic)" }
                    if let token = payload.token { ", for \(TokenDisplay.short(token))" }
                }
                HTML(.pre, .class("payload")) { HTML(.code) { payload.text } }
            }
        }
    }

    var json: JSONValue? {
        switch self {
        case .denied: nil
        case .kept(let payloads): payloads.json
        }
    }
}
