import CarillonCNGHTTP2

/// Names a submitted request, until its event was read.
package struct Submission: Hashable, Sendable {
    /// The number of its stream.
    package let stream: Int32
    let slot: UInt32
}
