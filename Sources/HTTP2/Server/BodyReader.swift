/// Reads the whole of a request's body as it arrives, when only its beginning is kept.
package protocol BodyReader: AnyObject {
    func add(_ bytes: RawSpan)
}
