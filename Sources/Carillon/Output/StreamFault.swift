import CarillonIO
import Glibc

/// The first error of a stream.
final class StreamFault: Sendable {
    private let code = Guarded<CInt?>(nil)

    func note(_ code: CInt) { self.code.withLock { $0 = $0 ?? code } }

    /// The reader has closed the pipe, as `| head` does. This ends the program, but is not a failure.
    var isReaderGone: Bool { code.withLock { $0 } == EPIPE }

    /// A sentence, if output was lost.
    var sentence: String? {
        guard let code = code.withLock({ $0 }), code != EPIPE else { return nil }
        return "Not all of the output could be written: \(FileError.reason(code))"
    }
}
