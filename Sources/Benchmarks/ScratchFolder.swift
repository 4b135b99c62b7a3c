import Glibc

/// A folder of our own for small files; it goes with its last reference.
final class ScratchFolder: Sendable {
    private let folder: String

    init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/carillon-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchmarkError("A folder in \(parent) cannot be made.") }
        self.folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        // Only what this type wrote is in it, and what others wrote under names that `path` was asked for.
        for name in self.names { unlink(self.path(name)) }
        rmdir(self.folder)
    }

    /// What is in it.
    var names: [String] {
        guard let entries = opendir(self.folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func path(_ name: String) -> String { "\(self.folder)/\(name)" }

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        var text: String? = text
        return try self.write(name) { text.take() }
    }

    /// Writes a long file, piece by piece until there is none, and returns its path.
    func write(_ name: String, pieces: () -> String?) throws -> String {
        guard let file = fopen(self.path(name), "w") else {
            throw BenchmarkError("\(self.path(name)) cannot be written.")
        }
        defer { fclose(file) }
        while let piece = pieces() { fputs(piece, file) }
        return self.path(name)
    }

    func read(_ name: String) throws -> String {
        guard let file = fopen(self.path(name), "r") else { throw BenchmarkError("\(self.path(name)) cannot be read.") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// For files that are too long for `read`.
    func forEachLine(of name: String, _ body: (Substring) -> Void) throws {
        guard let file = fopen(self.path(name), "r") else { throw BenchmarkError("\(self.path(name)) cannot be read.") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, CInt(line.count), file) != nil {
            body(String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)[...])
        }
    }

    /// Removes a file if it is there.
    func remove(_ name: String) throws {
        unlink(self.path(name))
    }
}
