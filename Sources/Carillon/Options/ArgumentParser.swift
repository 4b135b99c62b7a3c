import CarillonText

/// Turns the command line and the environment into a request.
struct ArgumentParser {
    /// What the user asked for.
    enum Request {
        case run(Command, arguments: [String], Settings)
        /// Help on the commands that begin with these words; on all of them if there are none.
        case help([String])
        /// The command line was empty.
        case nothing
    }

    let commands: [Command]
    let environment: [String: String]

    func parse(_ words: [String]) throws(UsageError) -> Request {
        if words.isEmpty { return .nothing }
        let line = try CommandLineWords(words)
        let (command, arguments) = try find(line)
        guard let command else { return .help(arguments) }
        do throws(UsageError) {
            try check(line.given, for: command)
            try check(arguments, for: command)
            let settings = try SettingsReader(command: command, environment: environment).read(line.given)
            return .run(command, arguments: arguments, settings)
        } catch {
            throw UsageError(error.sentence, of: command.words)
        }
    }

    /// Finds the command with the longest match at the beginning of the line, and returns the remaining words with it.
    /// No command means that help was requested for these words.
    private func find(_ line: CommandLineWords) throws(UsageError) -> (Command?, [String]) {
        var words = line.positional
        if line.wantsVersion { words = ["version"] }
        let isHelp = line.wantsHelp || words.isEmpty || words.first == "help"
        if words.first == "help" { words.removeFirst() }
        let match = commands.filter { words.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
        if let match { return isHelp ? (nil, match.words) : (match, Array(words.dropFirst(match.words.count))) }
        let group = words.isEmpty ? [] : [words[0]]
        let members = commands.filter { $0.words.starts(with: group) }
        if isHelp, !members.isEmpty, words.count <= 1 { return (nil, group) }
        throw unknown(words, members: members)
    }

    private func unknown(_ words: [String], members: [Command]) -> UsageError {
        let depth = members.isEmpty ? 0 : 1
        let known = Set((members.isEmpty ? commands : members).map { $0.words[depth] }).sorted()
        let group = Array(words.prefix(depth))
        let title = (["carillon"] + group).joined(separator: " ")
        guard words.count > depth else {
            return UsageError("\(title) takes one of: \(known.joined(separator: ", ")).", of: group)
        }
        let word = words[depth]
        let advice =
            Suggestion.nearest(to: word, among: known).map { "Did you mean '\($0)'?" }
            ?? "It knows: \(known.joined(separator: ", "))."
        return UsageError("\(title) knows no command '\(word)'. \(advice)", of: group)
    }

    private func check(_ given: [CommandLineWords.Given], for command: Command) throws(UsageError) {
        for one in given {
            guard let option = one.option else {
                let known = command.allOptions.flatMap(\.flags)
                let hint = Suggestion.nearest(to: one.flag, among: known).map { " Did you mean --\($0)?" } ?? ""
                throw UsageError("\(command.title) has no option --\(one.flag).\(hint)")
            }
            guard !command.allOptions.contains(where: { $0.flag == option.flag }) else { continue }
            let takers = commands.filter { $0.allOptions.contains { $0.flag == option.flag } }.map(\.title)
            let own = command.allOptions.compactMap(\.flags.first).map { "--" + $0 }
            throw UsageError(
                "\(command.title) has no option --\(one.flag)"
                    + (takers.count > 3
                        ? ". It takes \(Counted.list(own))." : "; it belongs to \(takers.joined(separator: ", ")).")
            )
        }
    }

    private func check(_ arguments: [String], for command: Command) throws(UsageError) {
        let needed = command.arguments.count(where: \.isRequired)
        if arguments.count < needed {
            let missing = command.arguments[arguments.count]
            throw UsageError("\(command.title) needs \(missing.name): \(missing.help)")
        }
        let takesAll = command.arguments.contains(where: \.isRepeatable)
        if !takesAll, arguments.count > command.arguments.count {
            let surplus = arguments[command.arguments.count]
            throw UsageError("\(command.title) takes no word '\(surplus)' there.")
        }
    }
}
