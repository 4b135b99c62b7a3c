/// Reads the whole of a request's body as it arrives, when only its beginning is kept.
package protocol BodyReader: AnyObject {
    func add(_ bytes: RawSpan)

    /// What it makes of the body. Nothing is added afterwards.
    func finish() -> [UInt8]
}
