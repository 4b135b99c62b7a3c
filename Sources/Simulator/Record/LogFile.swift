import CarillonIO
import Glibc

/// A file to which lines are appended, a whole batch per write; `-` is standard output.
///
/// It waits for a slow reader of a pipe or a terminal, so that no line is lost, but only for a limited time, because the
/// simulator's loop is blocked while it waits.
struct LogFile: ~Copyable {
    /// How many bytes a ready pipe accepts without blocking (`PIPE_BUF`).
    private static let pieceLimit = 4096

    private let descriptor: CInt
    private let mayBlock: Bool
    private let readerTimeout: Duration
    /// False after a timeout, until the reader has read again.
    private var waitsForReader = true
    /// Whether the last line is incomplete.
    private var isCut = false

    init(appendingTo path: String, readerTimeout: Duration = .seconds(5)) throws(SimulatorError) {
        self.readerTimeout = readerTimeout
        // Without O_NONBLOCK, opening a pipe that has no reader never returns.
        descriptor =
            path == "-"
            ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
        guard descriptor >= 0 else {
            let why =
                errno == ENXIO
                ? "this pipe has no reader. Start its reader first."
                : "\(IOError.text(of: errno)). Name a file in a folder that may be written."
            throw SimulatorError(
                .unavailable,
                "The log file \(path == "-" ? "on standard output" : path) cannot be opened: \(why)"
            )
        }
        var facts = stat()
        mayBlock = fstat(descriptor, &facts) != 0 || facts.st_mode & S_IFMT != S_IFREG
    }

    deinit { close(descriptor) }

    /// Writes all of the bytes. Returns false if the file accepts no more.
    mutating func write(_ bytes: [UInt8]) -> Bool {
        if isCut {
            guard writeAll([UInt8(ascii: "\n")]) else { return false }
            isCut = false
        }
        return writeAll(bytes)
    }

    private mutating func writeAll(_ bytes: [UInt8]) -> Bool {
        var written = 0
        while written < bytes.count {
            if mayBlock, !isReady() { break }
            let limit = mayBlock ? Self.pieceLimit : .max
            let count = bytes.withUnsafeBytes { buffer in
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...].prefix(limit))
                return Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                written += count
            } else if errno != EINTR, errno != EAGAIN {
                break
            }
        }
        if written == bytes.count { return true }
        if written > 0 { isCut = bytes[written - 1] != UInt8(ascii: "\n") }
        return false
    }

    /// Waits until a pipe or a terminal accepts more.
    private mutating func isReady() -> Bool {
        let deadline = MonotonicInstant.now + (waitsForReader ? readerTimeout : .zero)
        waitsForReader = BlockingWait.readiness(of: descriptor, for: POLLOUT, until: deadline)
        return waitsForReader
    }
}
