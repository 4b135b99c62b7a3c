import CarillonIO

extension BackOff {
    /// Before a statement is tried again.
    static let statements = BackOff(from: .milliseconds(100), to: .seconds(2))
}
