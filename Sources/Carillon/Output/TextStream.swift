import Glibc
import IO

/// Standard output or standard error: where text goes, and whether a person sees it.
struct TextStream: Sendable {
    let descriptor: CInt
    let isTerminal: Bool
    let hasColour: Bool
    let fault = StreamFault()

    init(descriptor: CInt, environment: [String: String]) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        hasColour = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// Writes all of it, waiting where it must. What goes wrong is kept in `fault`, for the end of the program.
    /// Returns how many bytes were written.
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

    /// How many letters fit on a line of the terminal.
    var columns: Int { Terminal.columns(of: descriptor) ?? 80 }

    /// The last words of a program that could not do what it was told.
    func complain(_ text: String) { write(styled("carillon: ", .red) + text + "\n") }

    func styled(_ text: String, _ style: TextStyle) -> String {
        hasColour && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}
