import CarillonCNGHTTP2

/// The part of either side's stream state that `OwnedEngine` uses.
protocol EngineState: ~Copyable {
    /// The first thing that went wrong.
    var failure: HTTP2Error? { get set }

    /// Sets the callbacks through which nghttp2 reports to this state; its address is the context of each.
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
