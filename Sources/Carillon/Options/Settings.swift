import CarillonPostgres
import CarillonWeb

/// The options of one run, each from an argument, else a variable, else the table.
///
/// All values were checked when they were read, so reading one never fails. Reading an option that the command does not
/// take is a programming error, and traps.
struct Settings: Sendable {
    private var values: [String: [OptionValue]] = [:]
    private var chosen: Set<String> = []
    private var shown: Set<String> = []
    private var files: [String: String] = [:]

    init() {}

    mutating func set(_ option: Option, to values: [OptionValue], isDefault: Bool) {
        self.values[option.flag] = values
        if !isDefault { chosen.insert(option.flag) }
    }

    /// The value was given as an argument, which every user of this machine can read.
    mutating func note(shown option: Option) { shown.insert(option.flag) }

    func isShown(_ option: Option) -> Bool { shown.contains(option.flag) }

    /// The value was read from that file.
    mutating func note(file: String, of option: Option) { files[option.flag] = file }

    /// The file that the value was read from. Its content may change later.
    func file(of option: Option) -> String? { files[option.flag] }

    /// The value was given, and is not the default.
    func isChosen(_ option: Option) -> Bool { chosen.contains(option.flag) }

    func isOn(_ option: Option) -> Bool {
        if case .flag(true)? = values(of: option).last { true } else { false }
    }

    func text(_ option: Option) -> String? {
        if case .text(let text)? = values(of: option).last { text } else { nil }
    }

    /// For options that the command requires.
    func required(_ option: Option) -> String {
        guard let text = text(option) else { preconditionFailure("--\(option.flag) is not required") }
        return text
    }

    func texts(_ option: Option) -> [String] {
        values(of: option).compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// For options that have a default.
    func count(_ option: Option) -> Int {
        guard let count = countIfAny(option) else { preconditionFailure("--\(option.flag) has no default count") }
        return count
    }

    func countIfAny(_ option: Option) -> Int? {
        if case .count(let count)? = values(of: option).last { count } else { nil }
    }

    /// For options that have a default.
    func duration(_ option: Option) -> Duration {
        guard let duration = durationIfAny(option) else {
            preconditionFailure("--\(option.flag) has no default duration")
        }
        return duration
    }

    func durationIfAny(_ option: Option) -> Duration? {
        if case .duration(let duration)? = values(of: option).last { duration } else { nil }
    }

    /// For options whose words are those of a type.
    func choice<Value: RawRepresentable>(_ option: Option) -> Value? where Value.RawValue == String {
        text(option).flatMap { Value(rawValue: $0) }
    }

    func address(_ option: Option) -> Address? {
        if case .address(let address)? = values(of: option).last { address } else { nil }
    }

    /// If none is given, the one that libpq's own variables name.
    var databases: [DatabaseSetting] {
        let given = (values[Option.databases.flag] ?? []).compactMap { value in
            if case .database(let database) = value { database } else { nil }
        }
        return given.isEmpty ? [DatabaseSetting("")] : given
    }

    /// Another database than that of the command.
    func database(_ option: Option) -> DatabaseSetting? {
        if case .database(let database)? = values(of: option).last { database } else { nil }
    }

    /// For commands that work on one database.
    var database: DatabaseSource { databases[databases.count - 1].source }

    var secrets: [String] { Option.all.flatMap { secrets(of: $0) } }

    /// What was given for an option, if that may be or contain a secret.
    func secrets(of option: Option) -> [String] {
        (option.secrecy == .open ? [] : values[option.flag] ?? []).compactMap { value in
            switch value {
            case .text(let text): text
            case .database(let database): database.text
            default: nil
            }
        }
    }

    private func values(of option: Option) -> [OptionValue] {
        guard let values = values[option.flag] else {
            preconditionFailure("this command does not take --\(option.flag)")
        }
        return values
    }
}
