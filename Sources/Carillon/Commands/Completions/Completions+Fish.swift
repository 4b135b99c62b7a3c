extension Completions {
    var fish: String {
        var lines = [
            """
            function __carillon_after
                # The words before the cursor that are not options are these.
                set -l words (commandline -opc | string match -v -- '-*')
                test "$words[2..]" = "$argv"
            end
            function __carillon_in
                # They begin with these.
                set -l words (commandline -opc | string match -v -- '-*')
                string match -q -- "$argv *" "$words[2..] "
            end
            complete -c carillon -f
            complete -c carillon -l help -d 'Show help'
            complete -c carillon -n __carillon_after -l version -d 'Print the versions'
            """
        ]
        for group in [[]] + groups.map({ [$0] }) {
            let condition = Self.quoted((["__carillon_after"] + group).joined(separator: " "))
            for (word, help) in words(after: group) {
                lines.append("complete -c carillon -n \(condition) -a \(word) -d \(Self.quoted(help))")
            }
        }
        for command in commands {
            let condition = Self.quoted((["__carillon_in"] + command.words).joined(separator: " "))
            for argument in command.arguments {
                guard let action = Self.action(values(of: argument)) else { continue }
                lines.append("complete -c carillon -n \(condition) \(action)")
            }
            for option in command.allOptions {
                for flag in option.flags {
                    let values = Self.values(of: flag, option)
                    let takes = values == .nothing ? "" : values == .files ? " -r" : " -x"
                    let action = Self.action(values).map { " " + $0 } ?? ""
                    let help = Self.quoted(Self.sentence(option.help))
                    lines.append("complete -c carillon -n \(condition) -l \(flag)\(takes)\(action) -d \(help)")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func action(_ values: Values) -> String? {
        switch values {
        case .nothing, .text: nil
        case .choice(let words): "-a \(quoted(words.joined(separator: " ")))"
        case .files: "-F"
        case .folders: "-a '(__fish_complete_directories)'"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }
}
