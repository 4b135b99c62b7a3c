import TestSupport
import Testing

/// The examples of the documentation are in a package of their own, which `make test` builds in a folder elsewhere.
@Suite struct DocumentationTests {
    @Test(arguments: [
        "Sources/ApplePush/ApplePush.docc", "Sources/Simulator/Simulator.docc", "README.md", "docs/simulator.md",
    ])
    func `every example of the documentation is compiled and run`(page: String) throws {
        let examples = try DocumentedExamples(in: page)
        #expect(examples.all.isEmpty == (page == "docs/simulator.md"))
        #expect(try examples.missing(from: "Tests/Outside/Tests/Examples") == [])
    }
}
