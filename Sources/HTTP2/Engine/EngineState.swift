import CarillonCNGHTTP2

/// The state of either side's streams, as far as the engine's owner uses it.
protocol EngineState: ~Copyable {
    /// The first thing that went wrong.
    var failure: HTTP2Error? { get set }

    /// Has nghttp2 report to this state, whose address is the context of every callback.
    static func setCallbacks(_ callbacks: OpaquePointer?)

    /// The engine is about to be fed.
    mutating func feeding(_ bytes: UnsafeRawBufferPointer)

    /// Bytes to send were taken from the engine.
    mutating func drained(_ count: Int)
}

extension EngineState where Self: ~Copyable {
    /// The state that a callback reports to.
    static func state(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Self> {
        context!.assumingMemoryBound(to: Self.self)
    }
}
