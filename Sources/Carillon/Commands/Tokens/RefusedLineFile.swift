import Glibc

/// The file that refused lines are written to, so that they can be corrected and imported.
struct RefusedLineFile: Sendable {
    private let path: String
    private let descriptor: CInt

    init(_ path: String, besides input: InputFile) throws(FileError) {
        self.path = path
        // Only the owner may read device tokens.
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
        do throws(FileError) {
            if input.isSame(as: descriptor) {
                throw FileError(path: path, reason: "the tokens are read from it; name another one.")
            }
            // A pipe cannot be truncated, and need not be.
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
