/// A command that was called, with everything it was called with.
struct Invocation: Sendable {
    let command: Command
    let arguments: [String]
    let settings: Settings
    let console: Console

    /// The first word after the command's own; for commands that require one.
    var name: String { arguments.first ?? "" }
}
