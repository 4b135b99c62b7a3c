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

    @Test(arguments: Command.all.flatMap(\.allOptions))
    func `an option of a command is in the table`(option: Option) {
        #expect(Option.all.contains { $0.flag == option.flag })
    }

    @Test(arguments: Option.all)
    func `an option of the table belongs to a command`(option: Option) {
        #expect(Command.all.contains { $0.allOptions.contains { $0.flag == option.flag } })
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
