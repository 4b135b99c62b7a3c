import Glibc
import IO

/// What went wrong with a stream of text, first of all that went wrong.
final class StreamFault: Sendable {
    private let code = Guarded<CInt?>(nil)

    func note(_ code: CInt) {
        self.code.withLock { $0 = $0 ?? code }
    }

    /// Its reader went away, as `| head` does: no failure, but a reason to end.
    var isReaderGone: Bool { code.withLock { $0 } == EPIPE }

    /// A sentence, when what was written is not where it should be.
    var sentence: String? {
        guard let code = code.withLock({ $0 }), code != EPIPE else { return nil }
        return "Not all of the output could be written: \(FileError.reason(code))"
    }
}
