/// What a sender asks of a delivery, beside that it is made. Nothing, to begin with.
public struct DeliveryTerms: Sendable {
    /// How long to wait for all of a batch. When it is over, and some pushes have ended and others have not, the delivery
    /// returns with what it has, and the rest follows. Nil: it returns when every push has ended.
    public var returnAfter: Duration?

    /// What must be in force for a push to be sent. What waits when it ends is safe; what was sent before may still be
    /// answered.
    public var permit: SendingPermit?

    /// Terms; without any, everything is sent, however long it takes.
    public init(returnAfter: Duration? = nil, permit: SendingPermit? = nil) {
        self.returnAfter = returnAfter
        self.permit = permit
    }
}
