import Testing

@testable import Carillon

// What a test's argument is called where results are printed.

extension Option: CustomTestStringConvertible {
    public var testDescription: String { "--\(flag)" }
}

extension Command: CustomTestStringConvertible {
    public var testDescription: String { title }
}
