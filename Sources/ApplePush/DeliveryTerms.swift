/// Conditions of a delivery; none by default.
public struct DeliveryTerms: Sendable {
    /// After how long the delivery returns the outcomes that there are, with a remainder for the others. While there are
    /// none, it waits for as long again. Nil: it returns when every push has ended.
    public var returnAfter: Duration?

    /// What must be in force for a push to be sent. Pushes that wait when it ends are safe to send again; those in flight may
    /// still be answered.
    public var permit: SendingPermit?

    /// Terms; without any, every push is sent, however long it takes.
    public init(returnAfter: Duration? = nil, permit: SendingPermit? = nil) {
        self.returnAfter = returnAfter
        self.permit = permit
    }
}
