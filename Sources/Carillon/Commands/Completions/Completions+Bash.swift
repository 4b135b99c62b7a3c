extension Completions {
    var bash: String {
        """
        _carillon() {
            local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words= files= index
            COMPREPLY=()
            # bash makes three words of --option=value.
            if [[ $word == = ]]; then
                word=
            elif [[ $before == = ]]; then
                before=${COMP_WORDS[COMP_CWORD-2]}
            fi
            case $before in
        \(bashValues)
            esac
            # The words before this one that are neither options nor their values.
            for ((index = 1; index < COMP_CWORD; index++)); do
                case ${COMP_WORDS[index]} in
                    \(valued.joined(separator: "|")))
                        ((index++))
                        [[ ${COMP_WORDS[index]} != = ]] || ((index++)) ;;
                    -*) ;;
                    *) command+="${command:+ }${COMP_WORDS[index]}" ;;
                esac
            done
            case "$command " in
                ' ') words='\(list(words(after: []).map(\.word) + ["--help", "--version"]))' ;;
        \(groups.map { "        '\($0) ') words='\(list(words(after: [$0]).map(\.word)))' ;;" }.joined(separator: "\n"))
        \(commands.map { "        '\(list($0.words)) '*) \(bashWords(of: $0)) ;;" }.joined(separator: "\n"))
            esac
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
            if [[ $files && $word != -* ]]; then
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
        }
        complete -F _carillon carillon

        """
    }

    private func list(_ words: [String]) -> String { words.joined(separator: " ") }

    private var flags: [(flag: String, values: Values)] {
        let options = commands.flatMap(\.allOptions)
        return options.flatMap { option in option.flags.map { ($0, Self.values(of: $0, option)) } }
            .reduce(into: []) { all, one in if !all.contains(where: { $0.flag == one.0 }) { all.append(one) } }
    }

    private var valued: [String] { flags.filter { $0.values != .nothing }.map { "--" + $0.flag } }

    /// A case for all options that have the same values.
    private var bashValues: String {
        var cases: [(values: Values, flags: [String])] = []
        for (flag, values) in flags where values != .nothing {
            if let index = cases.firstIndex(where: { $0.values == values }) {
                cases[index].flags.append("--" + flag)
            } else {
                cases.append((values, ["--" + flag]))
            }
        }
        return cases.map { values, flags in
            let reply =
                switch values {
                case .nothing, .text: ""
                case .choice(let words): "mapfile -t COMPREPLY < <(compgen -W '\(list(words))' -- \"$word\"); "
                case .files: "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); "
                case .folders: "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\"); "
                }
            return "        \(flags.joined(separator: "|")))\n            \(reply)return ;;"
        }.joined(separator: "\n")
    }

    private func bashWords(of command: Command) -> String {
        var words = command.allOptions.flatMap(\.flags).map { "--" + $0 } + ["--help"]
        let arguments = command.arguments.map(values)
        for case .choice(let choice) in arguments { words = choice + words }
        return "words='\(list(words))'" + (arguments.contains(.files) ? " files=yes" : "")
    }
}
