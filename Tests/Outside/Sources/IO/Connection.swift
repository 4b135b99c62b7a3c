/// A name that ApplePush has too.
public struct Connection {
    /// A connection.
    public init() {}
}

/// A name that ApplePush has too.
public struct Message {
    /// A message.
    public init() {}
}
