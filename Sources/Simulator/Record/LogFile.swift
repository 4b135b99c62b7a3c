import Glibc
import IO

/// A file that lines are appended to, a whole batch a write; `-` is standard output.
///
/// A pipe or a terminal may have a reader who stands still. It is waited for, so that no line is lost to a slow one, but
/// not for ever: the simulator's loop waits with it.
struct LogFile: ~Copyable {
    /// What a pipe takes without blocking once it is said to be ready (`PIPE_BUF`).
    private static let pieceLimit = 4096

    private let descriptor: CInt
    private let mayBlock: Bool
    private let patience: Duration
    /// Whoever has let it run out is not waited for again until they have read.
    private var isPatient = true
    /// The last line is not whole.
    private var isCut = false

    init(appendingTo path: String, patience: Duration = .seconds(5)) throws(SimulatorError) {
        self.patience = patience
        // Without O_NONBLOCK a pipe that nobody reads would never be open.
        descriptor =
            path == "-"
            ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
        guard descriptor >= 0 else {
            let why =
                errno == ENXIO
                ? "nobody reads this pipe. Start its reader first."
                : "\(String(cString: strerror(errno))). Name a file in a folder that may be written."
            throw SimulatorError(
                .unavailable,
                "The log file \(path == "-" ? "on standard output" : path) cannot be opened: \(why)"
            )
        }
        var facts = stat()
        mayBlock = fstat(descriptor, &facts) != 0 || facts.st_mode & S_IFMT != S_IFREG
    }

    deinit {
        close(descriptor)
    }

    /// Writes all of it; false where the file takes no more.
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

    /// Waits until a pipe or a terminal takes more.
    private mutating func isReady() -> Bool {
        let deadline = MonotonicInstant.now + (isPatient ? patience : .zero)
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let left = max(.zero, deadline - MonotonicInstant.now).components
            let count = poll(&wanted, 1, CInt(left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000))
            if count < 0, errno == EINTR { continue }
            isPatient = count > 0
            return isPatient
        }
    }
}
