/// Conditions of a delivery; none by default.
public struct DeliveryTerms: Sendable {
    /// How long to wait before the delivery returns the outcomes so far, with a remainder for the others. If there are none yet, it
    /// waits for the same time again. If nil, the delivery returns when every push has ended.
    public var returnAfter: Duration?

    /// The permit that must be in force for a push to be sent. Pushes still waiting when it ends are safe to send again; pushes in
    /// flight may still be answered.
    public var permit: SendingPermit?

    /// Terms of a delivery. By default every push is sent, however long it takes.
    public init(returnAfter: Duration? = nil, permit: SendingPermit? = nil) {
        self.returnAfter = returnAfter
        self.permit = permit
    }
}
