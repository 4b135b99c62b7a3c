import CarillonIO
import Glibc

/// Standard output or standard error.
struct TextStream: Sendable {
    /// The first error of a stream.
    final class Fault: Sendable {
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

    enum Style: Int {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
    }

    let descriptor: CInt
    let isTerminal: Bool
    let hasColour: Bool
    let fault = Fault()

    init(descriptor: CInt, environment: [String: String]) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        hasColour = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// Writes the whole text and returns the number of bytes written. An error is kept in `fault`, for the end of the
    /// program.
    @discardableResult
    func write(_ text: String) -> Int {
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, -1)
            } else if errno != EINTR {
                fault.note(errno)
                break
            }
        }
        return bytes.count - rest.count
    }

    /// The width of the terminal, in characters.
    var columns: Int { Terminal.columns(of: descriptor) ?? 80 }

    /// The error message of a command that failed.
    func complain(_ text: String) { write(styled("carillon: ", .red) + text + "\n") }

    func styled(_ text: String, _ style: Style) -> String {
        hasColour && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}
