extension Completions {
    var zsh: String {
        """
        _carillon() {
            local -a names
            case "$CURRENT:$words[2]" in
        \(zshNames("2:*", after: []))
        \(groups.map { zshNames("3:" + $0, after: [$0]) }.joined(separator: "\n"))
            esac
            case "$words[2] $words[3] " in
        \(commands.map(zshCase).joined(separator: "\n"))
            esac
        }
        # It is loaded by its name from $fpath, or read as it is.
        if [[ $funcstack[1] == _carillon ]]; then
            _carillon "$@"
        else
            compdef _carillon carillon
        fi

        """
    }

    private func zshNames(_ pattern: String, after words: [String]) -> String {
        let names = self.words(after: words).map { "            " + Self.quoted("\($0.word):\($0.help)") }
        return "        \(pattern)) names=(\n\(names.joined(separator: "\n"))\n        )\n"
            + "        _describe command names\n        return ;;"
    }

    private func zshCase(_ command: Command) -> String {
        let depth = command.words.count
        let repeatable = command.allOptions.filter(\.isRepeatable).map(\.flag)
        var specs = ["'--help[Show help]'"]
        for option in command.allOptions {
            for flag in option.flags {
                let values = Self.values(of: flag, option)
                let placeholder = flag == option.fileFlag ? "FILE" : option.kind.placeholder ?? ""
                specs.append(
                    Self.quoted(
                        (repeatable.contains(option.flag) ? "*" : "") + "--" + flag + (values == .nothing ? "" : "=")
                            + "[\(Self.escaped(Self.sentence(option.help), "[]:"))]"
                            + (values == .nothing ? "" : ":\(Self.escaped(placeholder, ":")):\(Self.action(values))")
                    )
                )
            }
        }
        for argument in command.arguments {
            let prefix = argument.isRepeatable ? "*:" : argument.isRequired ? ":" : "::"
            specs.append(Self.quoted("\(prefix)\(argument.name):\(Self.action(values(of: argument)))"))
        }
        return """
                    '\(command.words.joined(separator: " ")) '*)
                        shift \(depth) words
                        ((CURRENT -= \(depth)))
                        _arguments \\
                            \(specs.joined(separator: " \\\n                    ")) ;;
            """
    }

    private static func action(_ values: Values) -> String {
        switch values {
        case .nothing, .text: " "
        case .choice(let words): "(\(words.joined(separator: " ")))"
        case .files: "_files"
        case .folders: "_files -/"
        }
    }

    private static func escaped(_ text: String, _ special: String) -> String {
        String(text.flatMap { special.contains($0) || $0 == "\\" ? ["\\", $0] : [$0] })
    }

    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
