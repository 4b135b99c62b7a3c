import CarillonIO
import Glibc
import Testing

/// Workers that crash.
@Suite(.scene) struct TrapCases {
    /// What a trap of Swift raises on x86-64 and on ARM, and an access to invalid memory.
    @Test(arguments: [SIGILL, SIGTRAP, SIGSEGV])
    func `W12: a worker that traps in the middle of its work is gone at once, and its successor loses nothing`(
        number: CInt
    ) async throws {
        let most = 300
        let flags = ["--max-in-flight", "\(most)"]
        for _ in 1...Board.sized(1, full: 5) {
            // Swift's handler prints where it was, and expects the instruction to trap again; nothing does after a
            // signal from outside.
            let victim = try scene.fleet.start(flags, shell: "export SWIFT_BACKTRACE=enable=no")
            try await victim.started()
            scene.record.at(150, .received) { victim.signal(number) }
            try await scene.enqueue(1000)
            #expect(try await victim.end() == .signal(number))
        }
        try await scene.fleet.started(flags)
        try await scene.finish(duplicates: most * Board.sized(1, full: 5))
    }
}
