import CarillonSchema
import CarillonText

extension ChannelRecord {
    var mark: StateMark {
        switch state {
        case "ready": .good
        case "failed", "missing": .bad
        default: .attention
        }
    }

    /// The list of the command calls the error 'last_error'.
    var pageJSON: JSONValue {
        [
            "app": app, "reference": reference, "policy": policy, "channel_id": id, "state": state, "error": error,
            "requested_at": requestedAt, "created_at": createdAt,
        ]
    }
}
