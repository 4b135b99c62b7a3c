import TestSupport
import Testing

@testable import Carillon

/// docs/cli.md.
@Suite struct CommandPageTests {
    @Test func `the page lists the commands and options of the program`() throws {
        try GeneratedPage("docs/cli.md").expect(CommandReference(commands: Command.all).text)
    }
}
