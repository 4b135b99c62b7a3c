/// What a simulator tells its observer: see ``SimulatorConfiguration/observer``.
public enum SimulatorEvent: Sendable, Hashable {
    /// A request has come and its answer is decided; it goes out after the observer has returned. What there is no answer
    /// to has no status.
    case received(Delivery)
    /// The answer has been handed to the operating system.
    case answered(Delivery)
}
