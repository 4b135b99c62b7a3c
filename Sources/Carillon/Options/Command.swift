/// A command of the program: its words, what it takes, and what it does. All commands are listed in
/// `Command+Table.swift`.
struct Command: Sendable {
    /// The words that call it, for example `credential import`.
    let words: [String]
    /// The database roles that may run the command; any one of them suffices. Empty if only the owner of the schema may, or if it
    /// uses no database. docs/rights.md has the same table.
    let roles: [String]
    /// One sentence for the list of commands.
    let summary: String
    /// Details for `--help`, a paragraph each.
    let discussion: [String]
    let arguments: [Argument]
    let required: [Option]
    let options: [Option]
    /// When it exits with each status. Empty if the meaning of a status says enough.
    let exits: KeyValuePairs<ExitStatus, String>
    let examples: [String]
    /// Runs until it is stopped, and its output is read by machines: JSON lines, unless on a terminal.
    let isService: Bool
    let run: @Sendable (Invocation) async throws -> ExitStatus

    /// - Parameter discussion: An empty line ends a paragraph. Other ends of lines become spaces.
    init(
        _ words: String,
        roles: [String],
        summary: String,
        discussion: String = "",
        arguments: [Argument] = [],
        required: [Option] = [],
        options: [Option] = [],
        exits: KeyValuePairs<ExitStatus, String> = [:],
        examples: [String] = [],
        isService: Bool = false,
        run: @escaping @Sendable (Invocation) async throws -> ExitStatus
    ) {
        self.words = words.split(separator: " ").map(String.init)
        self.roles = roles
        self.summary = summary
        self.discussion = discussion.split(separator: "\n\n").map { String($0.replacing("\n", with: " ")) }
        self.arguments = arguments
        self.required = required
        self.options = options
        self.exits = exits
        self.examples = examples
        self.isService = isService
        self.run = run
    }

    /// As a user calls it: `carillon credential import`.
    var title: String { (["carillon"] + words).joined(separator: " ") }

    /// Every option it takes, with the options that every command takes.
    var allOptions: [Option] { required + options + Option.common }

    func requires(_ option: Option) -> Bool { required.contains { $0.flag == option.flag } }

    /// What the user lacks when PostgreSQL denies the command.
    var missingRole: String {
        guard let role = roles.first else {
            return "'\(title)' is for the owner of the schema carillon: connect as that role."
        }
        return "'\(title)' requires the role \(roles.joined(separator: " or ")): have a superuser, or the schema's "
            + "owner with the admin option, run GRANT \(role) TO this login."
    }
}
