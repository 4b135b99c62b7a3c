import ApplePushSimulator
import CarillonIO
import FoundationEssentials
import Glibc

extension Installation {
    /// A program that was built beside this one.
    private static func program(_ name: String) throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return own.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/\(name)"
    }

    /// Starts `carillon`. It ends with this program, even if this program is killed.
    ///
    /// - Parameter log: A file for its standard error.
    func start(_ words: [String], as login: String? = nil, log: String? = nil) async throws -> ChildProcess {
        let database = url + (login.map { "&user=" + $0 } ?? "")
        var command = ChildProcess.Command(try Self.program("carillon"), words + ["--database", database])
        command.output = .nothing
        command.error = log.map { .file($0) } ?? .nothing
        command.endsWithThread = true
        return try await Task(executorPreference: loop) { [command] in try ChildProcess(command) }.value
    }

    /// Runs workers during the body. They are drained at the end, unless answers would never come.
    func withWorkers(
        _ count: Int = 1,
        _ options: [String] = [],
        drains: Bool = true,
        _ body: ([ChildProcess]) async throws -> Void
    ) async throws {
        var workers: [ChildProcess] = []
        for _ in 0..<count { workers.append(try await start(["worker"] + options)) }
        do {
            try await body(workers)
            for worker in workers where drains {
                worker.signal(SIGTERM)
                try await end(of: worker)
            }
        } catch {
            for worker in workers { worker.signal(SIGKILL) }
            throw error
        }
        if !drains { for worker in workers { worker.signal(SIGKILL) } }
    }

    func waitUntilAsleep(_ workers: Int = 1) async throws {
        let giveUp = MonotonicInstant.now + .seconds(60)
        while try await number("SELECT count(*) FROM carillon.worker_status WHERE state = 'asleep'") != workers {
            guard .now < giveUp else { throw BenchmarkError("No worker falls asleep.") }
            try await loop.sleep(for: .milliseconds(100))
        }
    }

    /// Runs a `carillon` command; returns its duration and resource use.
    func run(_ words: [String]) async throws -> (seconds: Double, peakMemory: Int, processorTime: Duration) {
        let start = MonotonicInstant.now
        let usage = try await end(of: await self.start(words))
        return (start.age, usage.peakMemory, usage.processorTime)
    }

    /// Waits until a process has ended; its status must be 0.
    @discardableResult
    func end(of process: ChildProcess) async throws -> (peakMemory: Int, processorTime: Duration) {
        var peakMemory = 0
        while true {
            do {
                let exit = try await process.wait(on: loop, until: .now + .milliseconds(20))
                guard exit == .status(0), let time = process.processorTimeIfEnded() else {
                    throw BenchmarkError("The program ended with \(exit).")
                }
                return (peakMemory, time)
            } catch let error as IOError where error.code == .timedOut {
                // The kernel reports the peak only while the process runs.
                peakMemory = max(peakMemory, ProcessReading(process.processID)?.peakMemory ?? 0)
            }
        }
    }

    /// Checks that every push arrived once and every row was settled; otherwise the figures do not count.
    func check(sent total: Int, rows: Int) async throws {
        let arrived = await delivered()
        let sent = try await number("SELECT sum(sent) FROM carillon.results")
        let settled = try await number("SELECT count(*) FROM carillon.results")
        guard arrived == total, sent == total, settled == rows else {
            throw BenchmarkError("Of \(total) pushes \(arrived) arrived; \(sent) in \(settled) rows were settled.")
        }
    }

    /// How many pushes have arrived so far.
    func delivered() async -> Int { await simulated.simulator.statistics().delivered }

    /// Waits until this many pushes have arrived; returns the actual number and the time.
    func arrival(of count: Int) async throws -> (pushes: Int, at: MonotonicInstant) {
        var last = (pushes: 0, at: MonotonicInstant.now)
        while true {
            let pushes = await delivered()
            let now = MonotonicInstant.now
            if pushes >= count { return (pushes, now) }
            if pushes > last.pushes { last = (pushes, now) }
            if now - last.at > .seconds(60) { throw BenchmarkError("\(pushes) pushes have arrived, and no more come.") }
            // With few pushes, a long pause would miss the end.
            try await loop.sleep(for: .milliseconds(count < 100_000 ? 1 : 10))
        }
    }

    /// Pushes that arrive in a second, measured over this many of the next ones.
    func rate(of pushes: Int) async throws -> Double {
        let start = (pushes: await delivered(), at: MonotonicInstant.now)
        return try await rate(from: start, to: start.pushes + pushes)
    }

    /// Pushes that arrive in a second, from an earlier moment until this many have arrived in all.
    func rate(from start: (pushes: Int, at: MonotonicInstant), to count: Int) async throws -> Double {
        let end = try await arrival(of: count)
        guard end.pushes > start.pushes else {
            throw BenchmarkError("All pushes had arrived before: name a larger size.")
        }
        return Double(end.pushes - start.pushes) / ((end.at - start.at) / .seconds(1))
    }
}
