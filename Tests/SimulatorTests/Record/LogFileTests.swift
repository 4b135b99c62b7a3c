import Glibc
import TestSupport
import Testing

@testable import Simulator

/// The log in a pipe, whose reader may not come, or stand still.
struct LogFileTests {
    @Test func `a pipe that nobody reads is refused at once`() throws {
        try TemporaryFolder.with { folder in
            let path = folder.file("pipe")
            try #require(mkfifo(path, 0o600) == 0)
            let error = #expect(throws: SimulatorError.self) { _ = try LogFile(appendingTo: path) }
            #expect(error?.message.contains("nobody reads this pipe") == true)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a reader that stands still stops the log and not the simulator`() throws {
        try TemporaryFolder.with { folder in
            let path = folder.file("pipe")
            try #require(mkfifo(path, 0o600) == 0)
            let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { close(reader) }
            var log = try LogFile(appendingTo: path, patience: .milliseconds(50))
            let lines = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let isWritten = log.write(lines)
            #expect(!isWritten)
            // It goes on where the reader does.
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while read(reader, &room, room.count) > 0 {}
            let isWrittenLater = log.write(Array("line\n".utf8))
            #expect(isWrittenLater)
            let count = read(reader, &room, room.count)
            // What was cut is a line of its own.
            #expect(String(decoding: room.prefix(max(0, count)), as: UTF8.self) == "\nline\n")
        }
    }
}
