/// What a token is for. A broadcast reaches the tokens of one kind. `make docs` makes `carillon.token_kinds()` in SQL from it.
package enum TokenKind: String, CaseIterable, Sendable {
    case device
    /// Updates and ends one Live Activity.
    case liveActivity = "live_activity"
    /// Starts Live Activities of one type.
    case pushToStart = "push_to_start"
    case widget
    case complication
    case control
    case voip
    case location
    case fileProvider = "file_provider"
    case pushToTalk = "push_to_talk"
    case mdm

    package static let names = allCases.map(\.rawValue)
}
