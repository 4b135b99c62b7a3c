import CarillonPostgres
import CarillonSchema
import CarillonText

/// Something that happened to a device token.
struct TokenEvent: Record {
    let app: String
    let event: String
    let at: Moment?
    let messageID: Int64?
    let status: Int64?
    let reason: String?
    let attempt: Int64?
    let json: JSONValue

    var mark: StateMark {
        switch event {
        case "registered": .good
        case "failed", "dead since", "reported dead", "reaped": .bad
        default: .quiet
        }
    }
}
