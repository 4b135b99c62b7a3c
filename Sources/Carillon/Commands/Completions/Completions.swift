/// What makes a shell complete the command line, made from the tables of commands and options.
struct Completions {
    enum Shell: String, CaseIterable {
        case bash, zsh, fish

        static let list = "bash, zsh or fish"
    }

    let commands: [Command]

    func script(for shell: Shell) -> String {
        let head = "# Completes the command line of carillon. Written by 'carillon completions \(shell.rawValue)'.\n"
        switch shell {
        case .bash: return head + bash
        case .zsh: return "#compdef carillon\n" + head + zsh
        case .fish: return head + fish
        }
    }

    /// The words that may follow those, with what they do; of a word that begins several commands, these.
    func words(after words: [String]) -> [(word: String, help: String)] {
        let members = commands.filter { $0.words.count > words.count && $0.words.starts(with: words) }
        return members.map { $0.words[words.count] }.reduce(into: [String]()) { all, word in
            if !all.contains(word) { all.append(word) }
        }.map { word in
            let named = members.filter { $0.words[words.count] == word }
            let rest = named.compactMap { $0.words.dropFirst(words.count + 1).first }
            return (word, rest.isEmpty ? Self.sentence(named[0].summary) : rest.joined(separator: ", "))
        }
    }

    /// The words that begin several commands, such as `credential`.
    var groups: [String] {
        words(after: []).map(\.word).filter { !words(after: [$0]).isEmpty }
    }

    /// The first sentence, without its full stop.
    static func sentence(_ text: String) -> String {
        let sentence = text.split(separator: ". ", maxSplits: 1)[0]
        return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
    }

    /// What may stand as the value of that flag.
    static func values(of flag: String, _ option: Option) -> Values {
        if flag == option.fileFlag { return .files }
        return switch option.kind {
        case .flag: .nothing
        case .choice(let words): .choice(words)
        case .file(let word): word == "DIR" ? .folders : .files
        default: .text
        }
    }

    enum Values: Hashable {
        /// The flag takes no value.
        case nothing
        /// Nobody but the user knows.
        case text
        case choice([String])
        case files
        case folders
    }

    /// What may stand in place of that argument.
    func values(of argument: Argument) -> Values {
        switch argument.name {
        case "FILE": .files
        case "SHELL": .choice(Shell.allCases.map(\.rawValue))
        case "COMMAND": .choice(words(after: []).map(\.word))
        default: .text
        }
    }
}
