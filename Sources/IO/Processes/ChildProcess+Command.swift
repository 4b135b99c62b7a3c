import CarillonPOSIX

extension ChildProcess {
    package struct Command: Sendable {
        /// Where one of the three standard streams comes from or goes to.
        package enum Stream: Sendable {
            case inherited
            case nothing
            case descriptor(CInt)
            /// Appended to, and made when it is missing.
            case file(String)
        }

        /// A path, or a name that is looked up in `PATH`.
        package var program: String
        package var arguments: [String]
        /// Nil: the same as this process's.
        package var environment: [String: String]?
        package var directory: String?
        package var input = Stream.nothing
        package var output = Stream.inherited
        package var error = Stream.inherited
        /// Only root may name another user.
        package var user: User?
        /// Detached from our terminal, so that an interrupt typed there reaches only this process.
        package var startsSession = false
        /// Killed when the thread that starts it ends, and so when this process ends, in any way. Start it on a thread that
        /// stays, such as that of a loop: threads of the global executor end when they are idle. If the thread ends in the instant
        /// before the program runs, the program is not killed.
        package var endsWithThread = false

        package init(_ program: String, _ arguments: [String] = []) {
            self.program = program
            self.arguments = arguments
        }
    }
}

extension ChildProcess.Command {
    /// `posix_spawn` can change neither the user nor the signal at the end of the parent, and changing them after a `fork` is not
    /// safe in a process with several threads. `setpriv` of util-linux, which every Debian has, changes them and then executes
    /// the program.
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
        // Ours are closed on exec anyway; these are those that our parent left open.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of this program block signals; a child that inherited that could not be stopped.
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
