/// An event for the observer: see ``SimulatorConfiguration/observer``.
public enum SimulatorEvent: Sendable, Hashable {
    /// A request was received. Its answer is sent after the observer has returned. If it will not be answered, it has no status.
    case received(ReceivedRequest)
    /// The answer was handed to the operating system.
    case answered(ReceivedRequest)
}
