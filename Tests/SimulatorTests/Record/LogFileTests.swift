import Glibc
import TestSupport
import Testing

@testable import ApplePushSimulator

/// The log in a pipe, whose reader may be missing or slow.
@Suite struct LogFileTests {
    @Test func `a pipe without a reader is refused at once`() throws {
        try TemporaryFolder.with { folder in
            let path = folder.file("pipe")
            try #require(mkfifo(path, 0o600) == 0)
            let error = #expect(throws: SimulatorError.self) { _ = try LogFile(appendingTo: path) }
            #expect(error?.message.contains("this pipe has no reader") == true)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a reader that does not read stops the log and not the simulator`() throws {
        try TemporaryFolder.with { folder in
            let path = folder.file("pipe")
            try #require(mkfifo(path, 0o600) == 0)
            let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { close(reader) }
            var log = try LogFile(appendingTo: path, readerTimeout: .milliseconds(50))
            let lines = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let isWritten = log.write(lines)
            #expect(!isWritten)
            // It goes on once the reader reads.
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while read(reader, &room, room.count) > 0 {}
            let isWrittenLater = log.write(Array("line\n".utf8))
            #expect(isWrittenLater)
            let count = read(reader, &room, room.count)
            // The incomplete line is ended.
            #expect(String(decoding: room.prefix(max(0, count)), as: UTF8.self) == "\nline\n")
        }
    }
}
