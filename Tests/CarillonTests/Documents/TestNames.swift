import Testing

@testable import Carillon

// What a test's argument is called where results are printed.

extension Option: CustomTestStringConvertible {
    /// As a user writes it.
    public var testDescription: String { "--\(flag)" }
}

extension Command: CustomTestStringConvertible {
    /// As a user writes it.
    public var testDescription: String { title }
}
