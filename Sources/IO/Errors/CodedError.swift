/// The shape of every error that a module throws: a code for programs, a sentence for people, and the cause.
///
/// Within the package a code is an enumeration: no code outside can switch over it, so a new case breaks nothing.
package protocol CodedError: Error, CustomStringConvertible {
    associatedtype Code: Hashable & Sendable

    var code: Code { get }
    /// What is wrong and, if known, what to do about it. Never contains a secret.
    var message: String { get }
    /// The error that caused this one, if it came from a layer below.
    var underlying: (any Error)? { get }
}

extension CodedError {
    package var underlying: (any Error)? { nil }
    package var description: String { message }
}
