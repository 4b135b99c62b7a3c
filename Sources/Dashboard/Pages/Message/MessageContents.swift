import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The content of a message, for viewers who may see it.
enum MessageContents: Sendable {
    /// Empty if the content is no longer kept.
    case kept([Payload])
    /// The PostgreSQL login lacks the right.
    case denied

    struct Payload: Record {
        let state: String
        let pushType: String
        let topic: String?
        /// Nil if all devices get this payload.
        let token: String?
        let json: JSONValue
        let payload: String
    }

    private static let statement = Statement(
        "web_message_contents",
        "SELECT c.state, c.push_type, c.topic, c.token, c.payload FROM carillon.message_contents($1, $2) AS c"
    )

    static func of(_ message: MessageStatus, from database: ServiceRunner) async throws -> MessageContents {
        do {
            return .kept(try await database.values(of: statement, Parameters(message.id, message.app)))
        } catch let error as PostgresError where error.statementState == SQLState.insufficientPrivilege {
            return .denied
        }
    }

    @HTMLBuilder var html: HTML {
        HTML(.h2) { "What it says" }
        switch self {
        case .denied:
            HTML(.p, .class("note")) {
                "The login of this dashboard may not read payloads: run GRANT EXECUTE ON FUNCTION carillon.message_contents TO "
                    + "that login."
            }
        case .kept(let payloads):
            if payloads.isEmpty {
                HTML(.p, .class("note")) {
                    "No longer kept: a payload is deleted once it is sent or, if the push failed, with its failure."
                }
            }
            for payload in payloads {
                HTML(.p, .class("note")) {
                    "\(payload.pushType), \(Counted.text(Int64(payload.payload.utf8.count), "byte"))"
                    if let topic = payload.topic { ", topic \(topic)" }
                    if let token = payload.token { ", for \(TokenDisplay.short(token))" }
                }
                HTML(.pre, .class("payload")) { HTML(.code) { payload.payload } }
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
