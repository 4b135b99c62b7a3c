/// Who sees what is about persons: whole device tokens, and what messages say.
package enum ContentRight: String, CaseIterable, Sendable {
    case nobody
    /// Those who may change something.
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
