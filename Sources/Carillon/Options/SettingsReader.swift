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
            values.append(try value(of: option, isFile ? secret(in: text, from: source) : text, from: source))
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
        if option.flag == Option.database.flag, !option.isRepeatable, Option.Separator.whitespace.split(text).count > 1
        {
            throw UsageError(
                "\(source) holds several databases, which 'carillon worker' and 'carillon check' take; \(command.title) works "
                    + "on one: name it with --database.",
                command: command.words
            )
        }
        if let value = option.kind.read(text) { return value }
        let shown = option.secrecy == .open ? ", not '\(text)'" : ""
        throw UsageError("\(source) takes \(option.kind.expectation)\(shown).", command: command.words)
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
