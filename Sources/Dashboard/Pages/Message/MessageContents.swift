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
        /// Nil if it is too large to be shown, or if there is none.
        let payload: String?
        /// Of the payload; nil if there is none.
        let bytes: Int32?

        var size: String { bytes.map { Counted.text(Int64($0), "byte") } ?? "no payload" }
    }

    /// An application may insert a larger one, which is refused when it is claimed.
    private static let maxBytes: Int32 = 65_536

    private static let statement = Statement(
        "web_message_contents",
        """
        SELECT c.state, c.push_type, c.topic, c.token, CASE WHEN octet_length(c.payload) <= $3 THEN c.payload END AS payload,
            octet_length(c.payload) AS bytes
        FROM carillon.message_contents($1, $2) AS c
        """
    )

    static func of(_ message: MessageStatus, from database: ServiceRunner) async throws -> MessageContents {
        do {
            return .kept(try await database.values(of: statement, Parameters(message.id, message.app, maxBytes)))
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
                    "\(payload.pushType), \(payload.size)"
                    if let topic = payload.topic { ", topic \(topic)" }
                    if let token = payload.token { ", for \(TokenDisplay.short(token))" }
                }
                if let text = payload.payload {
                    HTML(.pre, .class("payload")) { HTML(.code) { text } }
                } else if payload.bytes != nil {
                    HTML(.p, .class("note")) { "It is too large to be shown, and to be sent." }
                }
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
