/// Reads the options of a command: an argument, else a variable, else the default of the table.
struct SettingsReader {
    let command: Command
    let environment: [String: String]

    func read(_ given: [CommandLineWords.Given]) throws(UsageError) -> Settings {
        var settings = Settings()
        for option in command.allOptions {
            let arguments = given.filter { $0.option?.flag == option.flag }
            if !arguments.isEmpty {
                settings.set(option, to: try read(option, arguments: arguments), isDefault: false)
            } else if let values = try readEnvironment(option) {
                settings.set(option, to: values, isDefault: false)
            } else if let fallback = option.fallback {
                settings.set(option, to: [try value(of: option, fallback, from: "--\(option.flag)")], isDefault: true)
            } else {
                settings.set(option, to: [], isDefault: true)
            }
        }
        for option in command.required where !settings.isChosen(option) {
            let word = option.kind.placeholder.map { " \($0)" } ?? ""
            throw UsageError(
                "\(command.title) needs --\(option.flag)\(word): \(option.help)",
                command: command.words
            )
        }
        return settings
    }

    private func read(_ option: Option, arguments: [CommandLineWords.Given]) throws(UsageError) -> [OptionValue] {
        if !option.isRepeatable, arguments.count > 1 {
            throw UsageError("--\(option.flag) is given more than once.", command: command.words)
        }
        var values: [OptionValue] = []
        for argument in arguments {
            let text = argument.value ?? ""
            let source = "--\(argument.flag)"
            let isFile = argument.flag == option.fileFlag
            let content = isFile ? try secret(in: text, from: source) : text
            // Arguments are repeated rather than listed, but URLs that are listed cannot mean anything else.
            if option.separator == .whitespace {
                values += try self.values(of: option, content, from: source)
            } else {
                values.append(try value(of: option, content, from: source))
            }
        }
        return values
    }

    private func readEnvironment(_ option: Option) throws(UsageError) -> [OptionValue]? {
        for name in option.variables {
            if let text = environment[name], !text.isEmpty {
                return try values(of: option, text, from: name)
            }
            if option.secrecy != .open, let path = environment[name + "_FILE"], !path.isEmpty {
                return try values(of: option, secret(in: path, from: name + "_FILE"), from: name + "_FILE")
            }
        }
        return nil
    }

    /// A variable holds one text, so what may be repeated stands there side by side.
    private func values(of option: Option, _ text: String, from source: String) throws(UsageError) -> [OptionValue] {
        var values: [OptionValue] = []
        for part in option.isRepeatable ? option.separator.split(text) : [text] {
            values.append(try value(of: option, part, from: source))
        }
        return values
    }

    private func value(of option: Option, _ text: String, from source: String) throws(UsageError) -> OptionValue {
        if option.flag == Option.database.flag { try checkDatabase(text, of: option, from: source) }
        if let value = option.kind.read(text) { return value }
        let shown = option.secrecy == .open ? ", not '\(text)'" : ""
        throw UsageError("\(source) takes \(option.kind.expectation)\(shown).", command: command.words)
    }

    private func checkDatabase(_ text: String, of option: Option, from source: String) throws(UsageError) {
        let pieces = text.split(separator: ",").map { $0.drop(while: \.isWhitespace) }
        guard !pieces.dropFirst().contains(where: Option.Separator.isURL) else {
            throw UsageError(
                "\(source) holds several databases, separated by commas: separate URLs by white space.",
                command: command.words
            )
        }
        guard option.isRepeatable || Option.Separator.whitespace.split(text).count < 2 else {
            throw UsageError(
                "\(source) holds several databases, and \(command.title) works on one: name that with --database. "
                    + "'carillon worker' and 'carillon check' take several.",
                command: command.words
            )
        }
    }

    private func secret(in path: String, from source: String) throws(UsageError) -> String {
        do {
            var text = try SmallFile.read(path).text
            // Editors and `echo` end a file with a line break that is no part of the secret.
            while text.last?.isNewline == true { text.removeLast() }
            return text
        } catch {
            throw UsageError("\(source): \(error.sentence)", command: command.words)
        }
    }
}
