/// A copy of a request that waits for its answer: its line in the log says what became of it.
struct HeldRequest {
    let facts: LogLine.Facts
    let head: RequestHead
    let bytes: [UInt8]
    let payload: Range<Int>
    let id: [UInt8]
}
