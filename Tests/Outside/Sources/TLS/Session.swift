/// A name that ApplePush has too.
public struct Session {
    /// What tells it from the other.
    public let name: String

    /// A session of that name.
    public init(name: String) { self.name = name }
}
