/// Reads a request's body as it comes, where only its beginning is kept.
package protocol BodyReader: AnyObject {
    func add(_ bytes: RawSpan)
}
