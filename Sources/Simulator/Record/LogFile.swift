import Glibc

/// A file that lines are appended to, a whole batch a write; `-` is standard output.
struct LogFile: ~Copyable {
    private let descriptor: CInt

    init(appendingTo path: String) throws(SimulatorError) {
        descriptor =
            path == "-"
            ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
            : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let why = String(cString: strerror(errno))
            throw SimulatorError(
                .unavailable,
                "The log file \(path == "-" ? "on standard output" : path) cannot be opened: \(why). Name a file in a folder that may be written."
            )
        }
    }

    deinit {
        close(descriptor)
    }

    /// Writes all of it; false where the file takes no more.
    func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { rest in
            var rest = rest[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 {
                    guard errno == EINTR || errno == EAGAIN && mayWait() else { return false }
                    continue
                }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    /// Waits until a pipe or a terminal that does not block takes more.
    private func mayWait() -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&wanted, 1, -1) > 0 || errno == EINTR
    }
}
