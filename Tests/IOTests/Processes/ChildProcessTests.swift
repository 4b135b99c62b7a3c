import CarillonIO
import Glibc
import TestSupport
import Testing

@Suite struct ChildProcessTests {
    private static func shell(_ script: String) -> ChildProcess.Command {
        ChildProcess.Command("sh", ["-c", script])
    }

    @Test(arguments: [0, 1, 42, 255] as [CInt])
    func `the exit status of a child is reported`(status: CInt) async throws {
        let child = try ChildProcess(Self.shell("exit \(status)"))
        #expect(try await child.wait(on: TestLoop.shared) == .status(status))
        #expect(child.exitIfEnded() == .status(status))
    }

    @Test(arguments: [SIGTERM, SIGKILL, SIGINT])
    func `the signal that ended a child is reported`(number: CInt) async throws {
        let child = try ChildProcess(Self.shell("read -r forever </dev/zero; echo never"))
        #expect(child.exitIfEnded() == nil)
        child.signal(number)
        #expect(try await child.wait(on: TestLoop.shared) == .signal(number))
        child.signal(SIGKILL)  // to one that has ended: nothing happens
    }

    @Test func `several tasks may wait for one`() async throws {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let (input, release) = (ends[0], ends[1])
        var command = Self.shell("read -r word; exit 7")
        command.input = .descriptor(input)
        let child = try ChildProcess(command)
        close(input)
        let exits = try await withThrowingTaskGroup(of: ChildProcess.Exit.self) { group in
            for _ in 0..<10 { group.addTask { try await child.wait(on: TestLoop.shared) } }
            group.addTask {
                close(release)
                return .status(7)
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(exits == Array(repeating: .status(7), count: 11))
    }

    @Test func `waiting ends at the deadline`() async throws {
        let child = try ChildProcess(Self.shell("read -r forever </dev/zero"))
        defer { child.signal(SIGKILL) }
        let error = await #expect(throws: IOError.self) {
            try await child.wait(on: TestLoop.shared, until: .now + .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        child.signal(SIGKILL)
        #expect(try await child.wait(on: TestLoop.shared) == .signal(SIGKILL))
    }

    @Test func `a child is killed when the thread that has started it ends, if it is to be`() async throws {
        try await TemporaryFolder.with { folder in
            let (child, other) = try await TestLoop.with { loop in
                var command = Self.shell("echo runs; exec tail -f /dev/null")
                command.output = .file(folder.file("output"))
                let free = command
                command.endsWithThread = true
                let bound = command
                let children = try await Task(executorPreference: loop) {
                    (try ChildProcess(bound), try ChildProcess(free))
                }.value
                // Only a program that runs is sure to be killed: see `endsWithThread`.
                try await loop.eventually("both run") { try folder.read("output") == "runs\nruns\n" }
                return children
            }
            defer { other.signal(SIGKILL) }
            #expect(try await child.wait(on: TestLoop.shared, until: .now + .seconds(180)) == .signal(SIGKILL))
            #expect(other.exitIfEnded() == nil)
        }
    }

    @Test func `a child has the streams, environment and folder that it was given`() async throws {
        try await TemporaryFolder.with { folder in
            var command = Self.shell("cat; printf '%s %s' \"$GREETING\" \"$(pwd)\"; echo wrong >&2; echo ${HOME-none}")
            command.input = .file(try folder.write("input", "first "))
            command.output = .file(folder.file("output"))
            command.error = .nothing
            command.environment = ["GREETING": "hello", "PATH": "/usr/bin:/bin"]
            command.directory = folder.path
            let child = try ChildProcess(command)
            #expect(try await child.wait(on: TestLoop.shared) == .status(0))
            #expect(try folder.read("output") == "first hello \(folder.path)none\n")
        }
    }

    @Test func `a child inherits no descriptor of ours`() async throws {
        let leak = open("/dev/null", O_RDONLY)  // as somebody who forgets to close on exec
        defer { close(leak) }
        let child = try ChildProcess(Self.shell("[ ! -e /proc/self/fd/\(leak) ]"))
        #expect(try await child.wait(on: TestLoop.shared) == .status(0))
    }

    @Test func `a missing program is named`() async throws {
        let error = #expect(throws: IOError.self) {
            try ChildProcess(ChildProcess.Command("no-such-program-here"))
        }
        #expect(error?.message.contains("no-such-program-here") == true)
    }

    @Test(.enabled(if: User.isRoot)) func `root can have it run as another user`() async throws {
        let nobody = try #require(User(named: "nobody"))
        #expect(User(id: nobody.id) == nobody)
        var command = Self.shell("[ \"$(id -u):$(id -g):$(id -G)\" = \(nobody.id):\(nobody.group):\(nobody.group) ]")
        command.user = nobody
        #expect(try await ChildProcess(command).wait(on: TestLoop.shared) == .status(0))
    }
}
