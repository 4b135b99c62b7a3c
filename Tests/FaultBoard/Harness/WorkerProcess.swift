import CarillonIO
import CarillonWeb
import Glibc
import TestSupport

@testable import Carillon

/// A worker process, as an operator would run it. Its output goes to a file.
final class WorkerProcess: Sendable {
    let name: String
    private let child: ChildProcess
    private let wasKilled = Guarded(false)
    private let folder: TemporaryFolder
    private let loop: EventLoop

    init(_ command: ChildProcess.Command, name: String, in folder: TemporaryFolder, on loop: EventLoop) throws {
        var command = command
        command.output = .file(folder.file("\(name).log"))
        command.error = command.output
        self.name = name
        self.folder = folder
        self.loop = loop
        child = try ChildProcess(command)
    }

    var processID: Int32 { child.processID }

    // MARK: Control

    func signal(_ number: CInt) { child.signal(number) }
    func kill() {
        wasKilled.withLock { $0 = true }
        child.signal(SIGKILL)
    }
    func terminate() { child.signal(SIGTERM) }
    /// Suspends it until `resume()`.
    func freeze() { child.signal(SIGSTOP) }
    func resume() { child.signal(SIGCONT) }

    /// Waits for its end.
    @discardableResult
    func end(within limit: Duration = .seconds(180)) async throws -> ChildProcess.Exit {
        try await child.wait(on: loop, until: .now + limit)
    }

    /// Asks it to end, and waits until it has.
    func stop(within limit: Duration = .seconds(180)) async throws -> ChildProcess.Exit {
        terminate()
        return try await end(within: limit)
    }

    /// A worker that was killed counts as ended, though the kernel may take a moment.
    var isRunning: Bool { !wasKilled.withLock { $0 } && child.exitIfEnded() == nil }

    // MARK: Output

    /// Its log so far.
    var said: String { (try? folder.read("\(name).log")) ?? "" }

    func lines(containing text: String) -> [Substring] {
        said.split(separator: "\n").filter { $0.contains(text) }
    }

    /// The last lines of its log.
    var last: String { said.split(separator: "\n").suffix(10).joined(separator: "\n") }

    /// Waits until that many lines of its log contain the text.
    func says(_ text: String, times count: Int = 1, within limit: Duration = .seconds(180)) async throws {
        try await loop.eventually("\(name) said '\(text)'", within: limit) {
            guard lines(containing: text).count < count else { return true }
            guard isRunning else { throw IOError(.reset, "\(name) ended without saying '\(text)'") }
            return false
        }
    }

    func started() async throws { try await says("The worker has started.") }

    /// Whether `/readyz` answers 200.
    func isReady() async -> Bool { (try? await ask("/readyz"))?.status == 200 }

    /// The sum over all samples of a metric.
    func metric(_ name: String) async throws -> Double {
        try await ask("/metrics").body.split(separator: "\n").reduce(0) { sum, line in
            let key = line.prefix { $0 != "{" && $0 != " " }
            guard key == name, let value = line.split(separator: " ").last.flatMap({ Double($0) }) else { return sum }
            return sum + value
        }
    }

    /// How many attempts were without an outcome.
    var unknownOutcomes: Double {
        get async throws { try await metric("carillon_unknown_outcomes_total") }
    }

    /// Waits until the sum over all samples of a metric has not changed for that long. Returns how much it grew before.
    func metric(_ name: String, restsFor duration: Duration) async throws -> Double {
        let begin = try await metric(name)
        var last = (value: begin, time: MonotonicInstant.now)
        try await loop.eventually("\(name) stood still for \(duration)") {
            let value = try await metric(name)
            if value != last.value { last = (value, .now) }
            return MonotonicInstant.now - last.time >= duration
        }
        return last.value - begin
    }

    func ask(_ path: String) async throws -> HealthProbe.HealthAnswer {
        try await says("metrics are served")
        let port = lines(containing: "metrics are served").first?.split(separator: "\"port\":").last
        guard let digits = port?.prefix(while: \.isNumber), let address = Address("127.0.0.1:\(digits)") else {
            throw IOError(.reset, "\(name) names no port")
        }
        return try await HealthProbe(address: address, timeout: .seconds(30)).ask(path)
    }
}
