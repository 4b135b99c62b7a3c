import FoundationEssentials
import Glibc

/// A folder for one test, removed at its end.
package struct TemporaryFolder: Sendable {
    package let path: String

    /// Runs the body with a new folder, and removes the folder with its contents.
    package static func with<R>(_ body: (TemporaryFolder) async throws -> R) async throws -> R {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        return try await body(folder)
    }

    package static func with<R>(_ body: (TemporaryFolder) throws -> R) throws -> R {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        return try body(folder)
    }

    private init() throws {
        // Short: programs put sockets into it, and the path of a socket has 107 bytes at most.
        let name = "/carillon-test-" + UUID().uuidString.lowercased().prefix(13)
        path = FileManager.default.temporaryDirectory.path + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    private func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file into the folder and returns its path.
    package func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: file(name)))
        return file(name)
    }

    package func read(_ name: String) throws -> String { try Self.text(of: file(name)) }

    /// Any file's, also one in /proc, whose size is not known before it is read.
    package static func text(of path: String) throws -> String {
        // By hand, since FoundationEssentials 6.3 leaks a page for each empty file that it reads.
        guard let stream = fopen(path, "r") else { throw CocoaError(.fileReadNoSuchFile) }
        defer { fclose(stream) }
        var text: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&block, 1, block.count, stream)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += block.prefix(count)
        }
    }
}
