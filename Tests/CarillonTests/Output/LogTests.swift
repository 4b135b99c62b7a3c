import CarillonIO
import CarillonText
import Dispatch
import Glibc
import Testing

@testable import Carillon

@Suite struct LogTests {
    @Test func `a reader that does not read stops no one, and learns how many lines it missed`() {
        let gate = DispatchSemaphore(value: 0)
        let lines = Guarded<[String]>([])
        let queue = LogQueue(
            write: { line in
                gate.wait()
                lines.withLock { $0.append(line) }
                return line.utf8.count
            },
            notice: { "lost \($0)" }
        )
        for number in 0..<LogQueue.capacity + 100 { queue.add("line \(number)") }
        for _ in 0...LogQueue.capacity + 2 { gate.signal() }
        queue.flush(within: .seconds(60))
        queue.add("after")
        queue.flush(within: .seconds(60))
        let written = lines.withLock { $0 }
        #expect(written.count == LogQueue.capacity + 2)
        #expect(written.suffix(2) == ["lost 100", "after"])
        #expect(queue.lost == 100)
    }

    @Test func `lines that a full disk does not take are counted, and the next one begins on a line of its own`() {
        let disk = Guarded((text: "", room: 12))
        let queue = LogQueue(
            write: { text in
                disk.withLock { disk in
                    let taken = text.prefix(disk.room)
                    disk.text += taken
                    disk.room -= taken.count
                    return taken.count
                }
            },
            notice: { "lost \($0)\n" }
        )
        for number in 1...4 { queue.add("line \(number)\n") }
        queue.flush(within: .seconds(60))
        #expect(queue.lost == 3)
        // Room for the line break after the torn line alone, then for the notice alone, then for all.
        for room in [1, 7, 1_000] {
            disk.withLock { $0.room = room }
            queue.add("room for \(room)\n")
            queue.flush(within: .seconds(60))
        }
        #expect(disk.withLock { $0.text } == "line 1\nline \nlost 4\nlost 1\nroom for 1000\n")
        #expect(queue.lost == 5)
    }

    @Test func `a line for machines is one JSON object with its fields in order`() {
        let style = LogStyle(format: .json, stream: TextStream(descriptor: -1, environment: [:]))
        let line = style.line(.warning, "A \"thing\"\nhappened", [("app", .string("demo")), ("count", .int(3))])
        #expect(line.hasPrefix("{\"time\":\"2"))
        #expect(
            line.hasSuffix(
                "\"level\":\"warning\",\"message\":\"A \\\"thing\\\"\\nhappened\",\"app\":\"demo\",\"count\":3}\n"
            )
        )
    }

    @Test func `a line for people shows what a terminal would obey`() {
        let style = LogStyle(format: .text, stream: TextStream(descriptor: -1, environment: [:]))
        let line = style.line(
            .info,
            "App \u{1B}[2J\u{202E}\nis new",
            [("app", .string("\u{9B}31m")), ("reason", .string("a\u{7F} b"))]
        )
        #expect(line.hasSuffix(#"App \u{1b}[2J\u{202e}\u{a}is new app=\u{9b}31m reason="a\u{7f} b""# + "\n"))
    }

    @Test func `a secret is taken out before it is escaped`() async throws {
        let (ours, theirs) = try SocketPair().release()
        defer {
            close(ours)
            close(theirs)
        }
        let log = Log(
            stream: TextStream(descriptor: theirs, environment: [:]),
            format: .json,
            threshold: .info,
            redactor: Redactor()
        )
        let url = "postgres://u:hunter\"2@h"
        log.error("\(url) is wrong", ["error": "no \(url) here", "list": [url]])
        log.debug("not worth a line")
        log.flush(within: .seconds(60))
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(ours, &bytes, bytes.count)
        let line = String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
        let safe = "postgres://u:***@h"
        #expect(line.contains("\(safe) is wrong") && line.contains("no \(safe) here") && line.contains("[\"\(safe)\"]"))
        #expect(!line.contains("hunter") && !line.contains("not worth"))
    }
}
