import CarillonSchema
import CarillonWeb

/// A state shown as a word with a colour, never by colour alone.
enum StateMark: String, Sendable {
    case good, attention, bad, quiet

    func html(_ word: String) -> HTML { HTML(.span, .class("mark \(rawValue)")) { word } }

    static func ofMessage(_ state: MessageStatus.State) -> StateMark {
        switch state {
        case .sent: .good
        case .failed, .expired: .bad
        case .partlySent, .retrying: .attention
        case .scheduled, .ready, .inFlight, .cancelled, .empty: .quiet
        }
    }

    static func ofCredential(_ status: CredentialStatus?) -> StateMark {
        switch status {
        case .ok: .good
        case .expiring: .attention
        case nil: .quiet
        case .expired, .invalid, .rejected, .missing: .bad
        }
    }
}

extension WorkerRecord.State {
    var mark: StateMark { self == .alive ? .good : self == .asleep ? .quiet : .bad }
}

extension AppStatus.State {
    var mark: StateMark { self == .active ? .good : self == .held ? .bad : .attention }
}

extension WebhookRecord.State {
    var mark: StateMark { self == .active ? .good : self == .failing ? .bad : .attention }
}

extension ChannelRecord.State {
    var mark: StateMark {
        switch self {
        case .ready: .good
        case .failed, .missing: .bad
        case .requested, .removing, .unknown: .attention
        }
    }
}
