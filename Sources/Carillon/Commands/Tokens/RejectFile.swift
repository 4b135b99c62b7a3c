import Glibc

/// Where all lines that were refused are written, to be mended and imported again.
struct RejectFile: Sendable {
    private let path: String
    private let descriptor: CInt

    init(_ path: String, besides input: InputFile) throws(FileError) {
        self.path = path
        // Tokens are nobody else's business.
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
        do throws(FileError) {
            if input.isSame(as: descriptor) {
                throw FileError(path: path, reason: "the tokens are read from it; name another one.")
            }
            // A pipe has no length, and needs none.
            if ftruncate(descriptor, 0) != 0, errno != EINVAL {
                throw FileError(path: path, reason: FileError.reason(errno))
            }
            try SmallFile.write(RefusedLine.header, to: descriptor, of: path)
        } catch {
            close()
            throw error
        }
    }

    func close() { Glibc.close(descriptor) }

    func write(_ lines: [RefusedLine]) throws(FileError) {
        try SmallFile.write(lines.reduce(into: "") { $0 += $1.csv }, to: descriptor, of: path)
    }
}
