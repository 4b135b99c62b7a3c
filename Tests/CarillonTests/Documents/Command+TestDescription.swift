import Testing

@testable import Carillon

extension Command: CustomTestStringConvertible {
    /// As a user writes it.
    public var testDescription: String { title }
}
