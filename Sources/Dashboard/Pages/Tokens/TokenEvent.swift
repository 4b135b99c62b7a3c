import CarillonPostgres
import CarillonSchema
import CarillonText

/// Something that happened to a device token.
struct TokenEvent: Record {
    enum Kind: String, CaseIterable, Decodable {
        case registered, sent, failed
        case deadSince = "dead since"
        case reportedDead = "reported dead"
        case reaped, ready, scheduled
        case inFlight = "in flight"
    }

    let app: String
    let event: Kind
    let at: Moment?
    let messageID: Int64?
    let status: Int64?
    let reason: String?
    let attempt: Int64?
    let json: JSONValue

    var mark: StateMark {
        switch event {
        case .registered, .sent: .good
        case .failed, .deadSince, .reportedDead, .reaped: .bad
        case .ready, .scheduled, .inFlight: .quiet
        }
    }
}
