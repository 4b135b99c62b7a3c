/// Who may see personal data: whole device tokens, and the content of messages.
package enum ContentRight: String, CaseIterable, Sendable {
    case nobody
    /// Viewers who may change something.
    case operators
    /// Everybody who may read.
    case readers

    func isGiven(toOneWhoMayChange mayChange: Bool) -> Bool {
        switch self {
        case .nobody: false
        case .operators: mayChange
        case .readers: true
        }
    }
}
