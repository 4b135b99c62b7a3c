import Dispatch
import Synchronization
import Testing

@testable import Carillon

@Suite struct LogTests {
    @Test func `a reader that does not read stops no one, and learns how many lines it missed`() {
        let gate = DispatchSemaphore(value: 0)
        let lines = Mutex<[String]>([])
        let queue = LogQueue(
            write: { line in
                gate.wait()
                lines.withLock { $0.append(line) }
            },
            lost: { "lost \($0)" }
        )
        for number in 0..<LogQueue.capacity + 100 { queue.add("line \(number)") }
        for _ in 0...LogQueue.capacity + 2 { gate.signal() }
        queue.flush(within: .seconds(60))
        queue.add("after")
        queue.flush(within: .seconds(60))
        let written = lines.withLock { $0 }
        #expect(written.count == LogQueue.capacity + 2)
        #expect(written.suffix(2) == ["lost 100", "after"])
    }

    @Test func `a line for machines is one JSON object with its fields in order`() {
        let style = LogStyle(format: .json, stream: TextStream(descriptor: -1, environment: [:]))
        let line = style.line(.warning, "A \"thing\"\nhappened", ["app": "demo", "count": 3])
        #expect(line.hasPrefix("{\"time\":\"2"))
        #expect(
            line.hasSuffix(
                "\"level\":\"warning\",\"message\":\"A \\\"thing\\\"\\nhappened\",\"app\":\"demo\",\"count\":3}\n"
            )
        )
    }
}
