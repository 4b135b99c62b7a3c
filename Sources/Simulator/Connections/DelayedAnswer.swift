import CarillonHTTP2
import CarillonIO

/// An answer that waits for the configured delay.
struct DelayedAnswer {
    /// A copy of the request, for its log line, which contains the answer.
    struct Copy {
        let facts: LogLine.Facts
        let head: RequestHead
        let bytes: [UInt8]
        let payload: Range<Int>
        let id: [UInt8]
    }

    let due: MonotonicInstant
    let stream: Int32
    let block: HeaderBlock
    let body: [UInt8]
    let judgement: Judgement
    /// For the log, if there is one.
    let request: Copy?
    /// For the observer, once the answer is sent.
    let received: ReceivedRequest?
}
