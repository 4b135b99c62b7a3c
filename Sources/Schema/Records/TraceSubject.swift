/// What a trace is about: the one argument of `trace` that is given beside the app.
package enum TraceSubject: Equatable, Sendable {
    case owner(String)
    case token(String)
    case reference(String)
    case message(Int64)

    package enum Kind: String, CaseIterable, Sendable {
        case owner, token, reference, message

        package var text: String {
            switch self {
            case .owner: "owner"
            case .token: "device token"
            case .reference: "reference"
            case .message: "message"
            }
        }
    }

    package var kind: Kind {
        switch self {
        case .owner: .owner
        case .token: .token
        case .reference: .reference
        case .message: .message
        }
    }

    package var text: String {
        switch self {
        case .owner(let text), .token(let text), .reference(let text): text
        case .message(let id): String(id)
        }
    }

    /// The text, if it is of this kind.
    func text(_ kind: Kind) -> String? { self.kind == kind ? text : nil }

    /// Nil if the text is no id of a message.
    package init?(_ kind: Kind, _ text: String) {
        switch kind {
        case .owner: self = .owner(text)
        case .token: self = .token(text)
        case .reference: self = .reference(text)
        case .message:
            guard let id = Int64(text), id > 0 else { return nil }
            self = .message(id)
        }
    }
}
