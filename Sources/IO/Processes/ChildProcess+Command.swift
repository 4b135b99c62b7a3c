import CarillonCLinux
import Glibc

extension ChildProcess {
    package struct Command: Sendable {
        /// Where one of the three standard streams comes from or goes to.
        package enum Stream: Sendable {
            case inherited
            case nothing
            case descriptor(CInt)
            /// Opened for appending, and created if it does not exist.
            case file(String)
        }

        /// A path, or a name that is looked up in `PATH`.
        package var program: String
        package var arguments: [String]
        /// Nil to inherit this process's environment.
        package var environment: [String: String]?
        package var directory: String?
        package var input = Stream.nothing
        package var output = Stream.inherited
        package var error = Stream.inherited
        /// The user to run as. Only root may name another user.
        package var user: User?
        /// Runs the child in its own session, detached from our terminal, so that an interrupt typed there reaches only this
        /// process.
        package var startsSession = false
        /// Kills the child when the thread that starts it ends, and therefore whenever this process ends, however it ends. Start
        /// the child on a long-lived thread, such as a loop's: threads of the global executor end when they are idle. If the thread
        /// ends in the instant before the program runs, the program is not killed.
        package var endsWithThread = false

        package init(_ program: String, _ arguments: [String] = []) {
            self.program = program
            self.arguments = arguments
        }
    }
}

extension ChildProcess.Command {
    /// `posix_spawn` cannot set the user or the signal sent when the parent ends, and setting them after `fork` is not safe in a
    /// multi-threaded process. `setpriv`, part of util-linux and so of every Debian, sets them and then executes the program.
    private var line: [String] {
        var privileges = user.map { ["--reuid=\($0.id)", "--regid=\($0.group)", "--clear-groups"] } ?? []
        if endsWithThread { privileges.append("--pdeathsig=KILL") }
        return (privileges.isEmpty ? [] : ["setpriv"] + privileges + ["--"]) + [program] + arguments
    }

    func spawn() throws(IOError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        Self.redirect(0, to: input, flags: O_RDONLY, in: &actions)
        Self.redirect(1, to: output, flags: O_WRONLY | O_CREAT | O_APPEND, in: &actions)
        Self.redirect(2, to: error, flags: O_WRONLY | O_CREAT | O_APPEND, in: &actions)
        // Our own descriptors are closed on exec; this closes those that our parent left open.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of this program block signals. A child that inherited the mask could not be stopped by a signal.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        var flags = CInt(POSIX_SPAWN_SETSIGMASK) | CInt(POSIX_SPAWN_SETSIGDEF)
        if startsSession { flags |= CInt(clinux_spawn_setsid) }
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let line = self.line
        let variables = environment?.map { "\($0.key)=\($0.value)" }
        var processID: pid_t = 0
        let result = Self.withCStrings(line) { arguments in
            guard let variables else {
                return posix_spawnp(&processID, line[0], &actions, &attributes, arguments, environ)
            }
            return Self.withCStrings(variables) { variables in
                posix_spawnp(&processID, line[0], &actions, &attributes, arguments, variables)
            }
        }
        if result != 0 { throw IOError(errno: result, doing: "starting \(line[0])") }
        return processID
    }

    private static func redirect(
        _ target: CInt,
        to stream: Stream,
        flags: CInt,
        in actions: inout posix_spawn_file_actions_t
    ) {
        switch stream {
        case .inherited: posix_spawn_file_actions_adddup2(&actions, target, target)
        case .nothing: posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
        case .descriptor(let source): posix_spawn_file_actions_adddup2(&actions, source, target)
        case .file(let path): posix_spawn_file_actions_addopen(&actions, target, path, flags, 0o600)
        }
    }

    private static func withCStrings<R>(
        _ strings: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        copies.append(nil)
        return body(copies)
    }
}
