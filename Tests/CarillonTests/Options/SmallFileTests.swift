import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct SmallFileTests {
    /// Somebody who may write in the folder can put each of these there after the path was resolved.
    @Test func `a file in a folder is read, but through no link, and no pipe or folder is`() throws {
        try TemporaryFolder.with { folder in
            let root = try #require(SmallFile.resolved(folder.path))
            let inside = root + "/in"
            for name in ["in", "in/deeper", "out"] { try #require(mkdir(root + "/" + name, 0o755) == 0) }
            for name in ["in/deeper/a.pem", "out/a.pem"] { _ = try folder.write(name, name) }
            for (name, target) in [("a.pem", "../out/a.pem"), ("linked", "../out"), ("b.pem", "deeper/a.pem")] {
                try #require(symlink(target, inside + "/" + name) == 0)
            }
            try #require(mkfifo(inside + "/pipe", 0o600) == 0)
            #expect(try SmallFile.read(inside + "/deeper/a.pem", in: inside).text == "in/deeper/a.pem")
            for name in ["a.pem", "linked/a.pem", "b.pem", "pipe", "deeper", "missing"] {
                #expect(throws: FileError.self, "\(name)") { try SmallFile.read(inside + "/" + name, in: inside) }
            }
            #expect(throws: FileError.self) { try SmallFile.read(root + "/out/a.pem", in: inside) }
        }
    }

    @Test func `a folder whose name looks the same is another folder`() throws {
        try TemporaryFolder.with { folder in
            let root = try #require(SmallFile.resolved(folder.path))
            let (composed, decomposed) = (root + "/caf\u{e9}", root + "/cafe\u{301}")
            for path in [composed, decomposed] { try #require(mkdir(path, 0o755) == 0) }
            try SmallFile.write("a", to: composed + "/a.pem")
            #expect(try SmallFile.read(composed + "/a.pem", in: composed).text == "a")
            #expect(throws: FileError.self) { try SmallFile.read(composed + "/a.pem", in: decomposed) }
        }
    }
}
