import CarillonIO
import Glibc

/// A file, or standard input, that is read in pieces.
struct InputFile: Sendable {
    let name: String
    /// In bytes; nil if unknown.
    let size: Int?
    let isTerminal: Bool
    private let descriptor: CInt
    private let device: dev_t
    private let number: ino_t
    /// Reading may block for long, as on a terminal or a pipe, so it does not happen on a shared thread.
    private let mayWait: Bool

    private static let piece = 262_144

    /// - Parameter path: `-` is standard input.
    init(_ path: String) throws(FileError) {
        name = path == "-" ? "standard input" : path
        descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
        var status = stat()
        let code = fstat(descriptor, &status) == 0 ? 0 : errno
        let kind = status.st_mode & S_IFMT
        guard code == 0, kind != S_IFDIR else {
            if path != "-" { Glibc.close(descriptor) }
            throw FileError(path: name, reason: FileError.reason(code == 0 ? EISDIR : code))
        }
        device = status.st_dev
        number = status.st_ino
        isTerminal = isatty(descriptor) == 1
        size = kind == S_IFREG ? Int(status.st_size) : nil
        mayWait = kind == S_IFIFO || kind == S_IFSOCK || isTerminal
    }

    func close() {
        if descriptor != 0 { Glibc.close(descriptor) }
    }

    /// Whether the descriptor refers to this file.
    func isSame(as other: CInt) -> Bool {
        var status = stat()
        return fstat(other, &status) == 0 && status.st_dev == device && status.st_ino == number
    }

    /// The next bytes; empty at the end.
    func read(on loop: EventLoop) async throws -> ArraySlice<UInt8> {
        while true {
            if mayWait {
                _ = try await loop.readiness(
                    of: descriptor,
                    for: .read,
                    until: .now + .seconds(365 * 86_400),
                    doing: "reading \(name)"
                )
            }
            var code: CInt = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { buffer, count in
                let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                code = result < 0 ? errno : 0
                count = max(0, result)
            }
            if code == 0 { return bytes[...] }
            guard code == EINTR || code == EAGAIN && mayWait else {
                throw FileError(path: name, reason: FileError.reason(code))
            }
        }
    }
}
