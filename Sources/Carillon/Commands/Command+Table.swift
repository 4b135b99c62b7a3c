extension Command {
    /// The table of commands, in the order that help lists them.
    static let all: [Command] = [version, help]
}
