import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

@testable import Carillon

@Suite struct OptionTableTests {
    @Test func `each flag and each variable has one meaning`() {
        let flags = Option.all.flatMap(\.flags)
        #expect(flags.count == Set(flags).count)
        let variables = Option.all.flatMap(\.variables)
        #expect(variables.count == Set(variables).count)
    }

    @Test(arguments: Option.all.filter { $0.fallback != nil })
    func `every default is a value the option takes`(option: Option) throws {
        #expect(option.kind.read(try #require(option.fallback)) != nil)
    }

    /// The simulation and the tests of the queue have these, and operators the others.
    @Test func `the defaults of the worker's options are those of what they set`() throws {
        let settings = try SettingsReader(command: .worker, environment: [:]).read([])
        let options = WorkerOptions(settings, database: DatabaseSource(""))
        #expect(unequalProperties(options, WorkerOptions()) == ["name", "host", "processID", "version"])
        #expect(unequalProperties(HTTP2Configuration(settings), HTTP2Configuration()).isEmpty)
    }

    /// The words of a command line are sorted before the command is known.
    @Test(arguments: Command.all.flatMap(\.allOptions))
    func `an option is read alike by every command that takes it`(option: Option) throws {
        let first = try #require(Option.all.first { $0.flag == option.flag })
        #expect(option.flags == first.flags)
        #expect(option.variables == first.variables)
        #expect(option.kind.placeholder == first.kind.placeholder)
        #expect(option.kind.expectation == first.kind.expectation)
        #expect(!option.help.isEmpty)
    }

    @Test(arguments: Command.all)
    func `a command takes an option once, and is called by words of its own`(command: Command) {
        let flags = command.allOptions.map(\.flag)
        #expect(flags.count == Set(flags).count)
        #expect(Command.all.count { $0.words == command.words } == 1)
    }

    @Test func `a variable is named after its flag`() {
        #expect(Option.maxInFlight.variable == "CARILLON_MAX_IN_FLIGHT")
        #expect(Option.gatewayCA.variable == "CARILLON_GATEWAY_CA")
    }
}
