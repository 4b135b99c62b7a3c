import Glibc

/// A file that is read whole: a credential, a secret, a root certificate.
struct SmallFile {
    /// No such file is larger. The limit keeps a mistaken path, to a disk image for example, from filling the memory.
    static let limit = 1 << 20

    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Editors and `echo` add a line break at the end, which is not part of the secret.
    var secret: String {
        var text = text
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }

    /// Whether it can be read again. A pipe can be read only once.
    static func isRegular(_ path: String) -> Bool { has(path, S_IFREG) }

    static func isFolder(_ path: String) -> Bool { has(path, S_IFDIR) }

    private static func has(_ path: String, _ format: mode_t) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == format
    }

    /// The path without links and dots; nil if there is no such file.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func read(_ path: String) throws(FileError) -> SmallFile {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
        defer { close(descriptor) }
        return try read(from: descriptor, of: path)
    }

    /// Reads a regular file in a folder. Both paths are as `resolved` returns them.
    ///
    /// Whoever may write in the folder can meanwhile put a link in place of any part of the path. So each part is opened in the
    /// part before it, and none may be a link.
    static func read(_ path: String, in folder: String) throws(FileError) -> SmallFile {
        let start = folder + "/"
        // Bytes, because Swift takes some different names for equal.
        guard path.utf8.starts(with: start.utf8) else {
            throw FileError(path: path, reason: "it is not in \(folder).")
        }
        let parts = path.utf8.dropFirst(start.utf8.count).split(separator: UInt8(ascii: "/"))
        var descriptor = open(folder, folderFlags)
        defer { close(descriptor) }
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let next = openat(descriptor, String(decoding: part, as: UTF8.self), isLast ? fileFlags : folderFlags)
            let code = errno
            close(descriptor)
            descriptor = next
            guard next >= 0 else { throw FileError(path: path, reason: FileError.reason(code)) }
        }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw FileError(path: path, reason: "it is not a regular file.")
        }
        return try read(from: descriptor, of: path)
    }

    /// With O_PATH, which Swift's Glibc module leaves out: the folder need not be readable.
    private static let folderFlags: CInt = 0x20_0000 | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    /// With O_NONBLOCK, because opening a pipe might block forever.
    private static let fileFlags: CInt = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC

    private static func read(from descriptor: CInt, of path: String) throws(FileError) -> SmallFile {
        var bytes = [UInt8]()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError(path: path, reason: FileError.reason(errno))
            }
            if count == 0 { return SmallFile(bytes: bytes) }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw FileError(path: path, reason: "it is larger than 1 MB; is it the right file?")
            }
        }
    }

    /// Throws if the file cannot be written. Creates nothing.
    static func checkMayWrite(_ path: String) throws(FileError) {
        var facts = stat()
        if stat(path, &facts) == 0 {
            if facts.st_mode & S_IFMT == S_IFDIR { throw FileError(path: path, reason: FileError.reason(EISDIR)) }
            guard access(path, W_OK) == 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
            return
        }
        guard errno == ENOENT else { throw FileError(path: path, reason: FileError.reason(errno)) }
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard access(folder, W_OK | X_OK) != 0 else { return }
        let reason =
            errno == ENOENT
            ? "there is no folder \(folder); create it first." : "this user may not create files in \(folder)."
        throw FileError(path: path, reason: reason)
    }

    /// Writes the whole file, readable by every user: what is written here, a root certificate, is public.
    static func write(_ text: String, to path: String) throws(FileError) {
        // Without O_NONBLOCK, opening a pipe without a reader would block. The text fits into a pipe's buffer.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
        guard descriptor >= 0 else { throw FileError(path: path, reason: FileError.reason(errno)) }
        defer { close(descriptor) }
        try write(text, to: descriptor, of: path)
    }

    /// Writes the whole text into an open file.
    static func write(_ text: String, to descriptor: CInt, of path: String) throws(FileError) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError(path: path, reason: FileError.reason(errno))
            }
            rest = rest.dropFirst(count)
        }
    }
}
