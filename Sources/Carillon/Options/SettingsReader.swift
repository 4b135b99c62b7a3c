/// Reads the options of a command: from an argument, else a variable, else the default in the table.
struct SettingsReader {
    let command: Command
    let environment: [String: String]

    func read(_ given: [CommandLineWords.Given]) throws(UsageError) -> Settings {
        var settings = Settings()
        for option in command.allOptions {
            let arguments = given.filter { $0.option?.flag == option.flag }
            if !arguments.isEmpty {
                settings.set(option, to: try read(option, arguments: arguments), isDefault: false)
                if arguments.contains(where: { $0.flag != option.fileFlag }) { settings.note(shown: option) }
                if let last = arguments.last, last.flag == option.fileFlag, let path = last.value {
                    settings.note(file: path, of: option)
                }
            } else if let values = try readEnvironment(option) {
                settings.set(option, to: values, isDefault: false)
                if let path = variable(of: option)?.file { settings.note(file: path, of: option) }
            } else if let fallback = option.fallback {
                settings.set(option, to: [try value(of: option, fallback, from: "--\(option.flag)")], isDefault: true)
            } else {
                settings.set(option, to: [], isDefault: true)
            }
        }
        for option in command.required where !settings.isChosen(option) {
            throw UsageError("\(command.title) needs \(option.usage): \(option.help)")
        }
        return settings
    }

    private func read(_ option: Option, arguments: [CommandLineWords.Given]) throws(UsageError) -> [OptionValue] {
        if !option.isRepeatable, arguments.count > 1 { throw UsageError("--\(option.flag) is given more than once.") }
        var values: [OptionValue] = []
        for argument in arguments {
            let text = argument.value ?? ""
            let source = "--\(argument.flag)"
            if argument.flag == option.fileFlag {
                values += try self.values(of: option, inFile: text, from: source)
            } else if option.separator == .whitespace {
                // Arguments are repeated, not listed. URLs are split anyway, because a list of them has no other
                // meaning.
                values += try self.values(of: option, text, from: source)
            } else {
                values.append(try value(of: option, text, from: source))
            }
        }
        return values
    }

    private func readEnvironment(_ option: Option) throws(UsageError) -> [OptionValue]? {
        guard let (name, text, file) = variable(of: option) else { return nil }
        if let file { return try values(of: option, inFile: file, from: name + "_FILE") }
        return try values(of: option, text, from: name)
    }

    /// The first variable that is set: its name, and its text or the file that has it.
    private func variable(of option: Option) -> (name: String, text: String, file: String?)? {
        for name in option.variables {
            if let text = environment[name], !text.isEmpty { return (name, text, nil) }
            guard option.secrecy != .open, let path = environment[name + "_FILE"], !path.isEmpty else { continue }
            return (name, "", path)
        }
        return nil
    }

    /// A variable has one text, so the values of a repeatable option are separated within it.
    private func values(of option: Option, _ text: String, from source: String) throws(UsageError) -> [OptionValue] {
        var values: [OptionValue] = []
        for part in option.isRepeatable ? option.separator.split(text) : [text] {
            values.append(try value(of: option, part, from: source))
        }
        return values
    }

    private func values(of option: Option, inFile path: String, from source: String) throws(UsageError) -> [OptionValue]
    {
        let text = try secret(in: path, of: option, from: source)
        let isDatabase = if case .database = option.kind { true } else { false }
        if text.isEmpty {
            let content = isDatabase ? "the database's URL" : "the value of --\(option.flag)"
            throw UsageError("\(source): \(DatabaseFile.emptiness(of: path, lacking: content)).")
        }
        let values = try self.values(of: option, text, from: source)
        guard isDatabase, SmallFile.isRegular(path) else { return values }
        return values.enumerated().map { index, value in
            guard case .database(let database) = value else { return value }
            let file = DatabaseFile(
                path: path,
                separator: option.isRepeatable ? option.separator : nil,
                index: index,
                count: values.count
            )
            return .database(DatabaseSetting(database.text, in: file))
        }
    }

    private func value(of option: Option, _ text: String, from source: String) throws(UsageError) -> OptionValue {
        if option.flag == Option.database.flag { try checkDatabase(text, of: option, from: source) }
        if let value = option.kind.read(text) { return value }
        let shown = option.secrecy == .open ? ", not '\(text)'" : ""
        throw UsageError("\(source) takes \(option.kind.expectation)\(shown).")
    }

    private func checkDatabase(_ text: String, of option: Option, from source: String) throws(UsageError) {
        let pieces = text.split(separator: ",").map { $0.drop(while: \.isWhitespace) }
        guard !pieces.dropFirst().contains(where: Option.Separator.isURL) else {
            throw UsageError("\(source) names several databases, separated by commas: separate URLs by white space.")
        }
        guard option.isRepeatable || Option.Separator.whitespace.split(text).count < 2 else {
            throw UsageError(
                "\(source) names several databases, and \(command.title) works on one: name that with --database. "
                    + "'carillon worker', 'carillon status', 'carillon check' and 'carillon web' take several."
            )
        }
    }

    private func secret(in path: String, of option: Option, from source: String) throws(UsageError) -> String {
        do {
            return try SmallFile.read(path).secret
        } catch {
            // A text that is not a file, and does not begin like a path, may be the secret itself, so it is not printed.
            let isPath = ["/", "./", "../"].contains { path.hasPrefix($0) } || SmallFile.exists(path)
            let sentence =
                option.secrecy == .hidden && !isPath
                ? "The file that \(source) names cannot be used: \(error.reason)" : "\(source): \(error.sentence)"
            throw UsageError(sentence)
        }
    }
}
