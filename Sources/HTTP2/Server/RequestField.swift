package import CarillonIO

/// A header field of a request: the ranges of its name and value in the request's bytes. Pseudo-header fields come first.
package struct RequestField: Sendable {
    package let name: ByteRange
    package let value: ByteRange
}
