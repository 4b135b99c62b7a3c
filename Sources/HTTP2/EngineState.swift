/// What either side of a connection knows of its streams, as far as the engine's owner has to do with it.
protocol EngineState: ~Copyable {
    /// The first thing that went wrong.
    var failure: HTTP2Error? { get set }

    /// The engine is about to be fed.
    mutating func feeding(_ bytes: UnsafeRawBufferPointer)

    /// Bytes to send were taken from the engine.
    mutating func drained(_ count: Int)
}
