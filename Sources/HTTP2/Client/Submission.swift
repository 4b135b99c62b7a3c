import CarillonCNGHTTP2

/// Identifies a submitted request until its event has been read.
package struct Submission: Hashable, Sendable {
    /// The number of its stream.
    package let stream: Int32
    let slot: UInt32
}
