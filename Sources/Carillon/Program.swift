import CarillonIO
import CarillonSchema
import CarillonText
import FoundationEssentials
import Glibc

/// The program: parses the command line, runs the command, and ends with its exit status.
@main
struct Program {
    static let version = Release.current.description

    let environment: [String: String]

    static func main() async {
        openStandardStreams()
        dumpNothing()
        Memory.mapLargeBlocks()
        ResourceLimits.explainShortages()
        signal(SIGPIPE, SIG_IGN)  // a reader that goes away ends a write, not the program
        let program = Program(environment: ProcessInfo.processInfo.environment)
        if let complaint = ResourceLimits.complaint {
            TextStream(descriptor: 2, environment: program.environment).complain(complaint)
            exit(ExitStatus.exhausted.code)
        }
        Thread.exitProcess(await program.run(Array(CommandLine.arguments.dropFirst())).code)
    }

    func run(_ words: [String]) async -> ExitStatus {
        let help = HelpText(commands: Command.all)
        do {
            switch try ArgumentParser(commands: Command.all, environment: environment).parse(words) {
            case .nothing:
                TextStream(descriptor: 2, environment: environment).write(help.text(for: []))
                return .usage
            case .help(let words):
                let output = TextStream(descriptor: 1, environment: environment)
                output.write(help.text(for: words))
                return status(.done, after: output)
            case .run(let command, let arguments, let settings):
                return await run(command, arguments, settings)
            }
        } catch {
            let error = CommandError(error, of: error.command)
            // The sentence may repeat a word that was given in the wrong place, such as a database URL.
            let complaint = Redactor(words).clean(error.text)
            TextStream(descriptor: 2, environment: environment).complain(complaint)
            return error.status
        }
    }

    private func run(_ command: Command, _ arguments: [String], _ settings: Settings) async -> ExitStatus {
        let console = Console(settings: settings, environment: environment)
        for sentence in unknownVariables + exposures(settings) {
            if command.isService { console.log.warning(sentence) } else { console.warn(sentence) }
        }
        let ending: ExitStatus
        do {
            ending = try await command.run(
                Invocation(
                    command: command,
                    arguments: arguments,
                    settings: settings,
                    console: console,
                    manager: ServiceManager(environment: environment, log: console.log)
                )
            )
        } catch let error as UsageError {
            ending = .usage
            console.report(CommandError(error, of: command.words), isService: command.isService)
        } catch {
            let error = CommandError(explaining: error).naming(rolesFor: command)
            console.report(error, isService: command.isService)
            ending = error.status
        }
        console.log.flush()
        return status(ending, after: console.output, console.errors)
    }

    /// Environment variables that begin with `CARILLON_` but belong to no option, which is most likely a typing error.
    private var unknownVariables: [String] {
        let known = Option.all.flatMap { option in
            option.secrecy == .open ? [option.variable] : [option.variable, option.variable + "_FILE"]
        }
        return environment.keys.filter { $0.hasPrefix("CARILLON_") && !known.contains($0) }.sorted().map { name in
            let nearest = Suggestion.nearest(to: name, among: known).map { " Did you mean \($0)?" } ?? ""
            return "The variable \(name) has no effect.\(nearest)"
        }
    }

    /// Warns of a password on the command line, which every user can read in the list of processes.
    private func exposures(_ settings: Settings) -> [String] {
        Option.all.filter { settings.isShown($0) }.compactMap { option in
            guard Redactor(settings.secrets(of: option)).hidesAny else { return nil }
            return
                "--\(option.flag) has a password, which other users of this machine can read there: use --\(option.flag)-file"
                + (option.customary.map { " or \($0)" } ?? "") + "."
        }
    }

    /// Output that could not be written, on a full disk for example, is a failure.
    private func status(_ status: ExitStatus, after streams: TextStream...) -> ExitStatus {
        guard let sentence = streams.lazy.compactMap(\.fault.sentence).first else { return status }
        TextStream(descriptor: 2, environment: environment).complain(sentence)
        return status == .done ? .failed : status
    }

    /// A core dump would hold keys and passwords. The limit counts for systemd-coredump, too.
    private static func dumpNothing() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        limit.rlim_cur = 0
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }

    /// Opens standard streams that the caller has closed. Otherwise the next file or socket would get their number, and
    /// log lines would be written into it.
    private static func openStandardStreams() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            if descriptor > 2 || descriptor < 0 {
                close(descriptor)
                return
            }
        }
    }
}
