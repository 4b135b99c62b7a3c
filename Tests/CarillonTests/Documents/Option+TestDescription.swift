import Testing

@testable import Carillon

extension Option: CustomTestStringConvertible {
    /// As a user writes it.
    public var testDescription: String { "--\(flag)" }
}
