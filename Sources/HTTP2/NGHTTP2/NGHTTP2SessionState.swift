import CarillonCNGHTTP2

/// The part of either side's stream state that `NGHTTP2Session` uses.
protocol NGHTTP2SessionState: ~Copyable {
    /// The first thing that went wrong.
    var failure: HTTP2Error? { get set }

    /// Sets the callbacks through which nghttp2 reports to this state; its address is the context of each.
    static func setCallbacks(_ callbacks: OpaquePointer?)

    /// nghttp2 is about to be fed.
    mutating func feeding(_ bytes: UnsafeRawBufferPointer)

    /// Appends what nghttp2 has made: a frame, a part of one, or the preface. A frame's callback precedes it.
    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8])
}

extension NGHTTP2SessionState where Self: ~Copyable {
    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(contentsOf: bytes)
    }

    /// The state that a callback reports to.
    static func state(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Self> {
        context!.assumingMemoryBound(to: Self.self)
    }
}
