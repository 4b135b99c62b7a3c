import FoundationEssentials

/// A value as one of the types of fields.
extension APNs.JSON {
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .decimal(let value): Double(value.description)
        default: nil
        }
    }
}
