import FoundationEssentials

extension APNs.JSON: Hashable {
    /// Whether both are written alike, whichever cases hold their numbers.
    public static func == (one: Self, other: Self) -> Bool {
        switch (one.simplest, other.simplest) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.decimal(let one), .decimal(let other)): one == other
        case (.string(let one), .string(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    /// Hashes the written value.
    public func hash(into hasher: inout Hasher) {
        switch simplest {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .decimal(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }

    /// The same value, with numbers in the first of `integer`, `number` and `decimal` that can hold them.
    private var simplest: Self {
        switch self {
        case .number(let value): Int64(exactly: value).map { .integer($0) } ?? self
        case .decimal(let value):
            if let whole = Int64(value.description) {
                .integer(whole)
            } else if let number = Double(value.description), value.isSame(as: number) {
                .number(number)
            } else {
                self
            }
        default: self
        }
    }
}

extension Decimal {
    /// Whether the number is written with the same digits.
    func isSame(as number: Double) -> Bool { Decimal(string: number.description) == self }
}
