import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct FoundMessage: Record {
    let app: String?
    let id: Int64
    /// Nil if it was not read.
    let state: MessageStatus.State?
    let reference: String?
    /// Nil if it was not read or could not be recorded.
    let createdAt: Moment?

    init(_ message: MessageStatus) {
        app = message.app
        id = message.id
        state = message.state
        reference = message.reference
        createdAt = message.createdAt
    }

    var link: Link { Link.message(id, of: app) }

    var json: JSONValue {
        [
            "app": app, "id": id, "state": state?.rawValue, "reference": reference, "created_at": createdAt,
            "see": link.text,
        ]
    }
}
