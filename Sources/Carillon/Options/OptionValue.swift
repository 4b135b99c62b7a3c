import CarillonWeb

/// A value read from an argument, a variable, a file or the table.
enum OptionValue: Sendable, Equatable {
    case flag(Bool)
    case text(String)
    case database(DatabaseSetting)
    case count(Int)
    case duration(Duration)
    case address(Address)
}
