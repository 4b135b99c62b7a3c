/// An event that the observer gets: see ``SimulatorConfiguration/observer``.
public enum SimulatorEvent: Sendable, Hashable {
    /// A request was received. Its answer is sent after the observer has returned. One that will not be answered has no
    /// status.
    case received(Delivery)
    /// The answer was handed to the operating system.
    case answered(Delivery)
}
