import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonBenchmarks

/// Each benchmark is run as its user runs it, at the least size: that it measures is tested, not what.
@Suite struct BenchmarkTests {
    @Test func `the figures of every benchmark that the help names are looked for here`() async throws {
        let help = try await ProgramRun.run(["help"], of: "carillon-bench")
        #expect(help.status == 0)
        #expect(Set(Self.names(in: help.output)) == Set(BenchmarkFigures.all.keys))
    }

    @Test(arguments: BenchmarkFigures.all.keys.sorted())
    func `a benchmark runs at its least size, prints its figures and leaves nothing behind`(name: String) async throws {
        try await TemporaryFolder.with { folder in
            // Where root runs this, the database's user writes there too.
            try FileManager.default.setAttributes([.posixPermissions: 0o1777], ofItemAtPath: folder.path)
            let run = try await ProgramRun.run(
                ["\(name)=least"],
                of: "carillon-bench",
                environment: ["TMPDIR": folder.path],
                within: .seconds(600)
            )
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            #expect(run.errors.isEmpty)
            #expect(Self.figures(in: run.output) == BenchmarkFigures.all[name])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func `a plot shows each figure`() async throws {
        try await TemporaryFolder.with { folder in
            let run = try await ProgramRun.run(
                ["--record", folder.file("figures.json"), "insert=least"],
                of: "carillon-bench",
                within: .seconds(600)
            )
            #expect(run.status == 0, "\(run.output)\(run.errors)")
            let runs = try BenchmarkRecord(folder.file("figures.json")).runs
            let plot = BenchmarkPage.plot(of: try #require(runs.first)).svg
            let names = BenchmarkFigures.all["insert"] ?? []
            #expect(runs.count == 1 && runs[0].figures.map(\.name) == names)
            #expect(plot.hasPrefix("<svg ") && plot.hasSuffix("</svg>\n"))
            for name in names {
                #expect(plot.contains(">\(name.drop { $0 == " " })</text>"), "\(name)")
            }
            #expect(plot.matches(of: #/<rect class="bar/#).count == names.count)
            #expect(plot.matches(of: #/<line class="bound"/#).count == 1)
        }
    }

    @Test(arguments: ["nonsense", "nonsense=least", "rows=0", "rows=many", "claim=999"])
    func `an invalid name or size is an error of usage, and nothing runs`(word: String) async throws {
        let run = try await ProgramRun.run(["insert=least", word], of: "carillon-bench")
        #expect(run.status == 2)
        #expect(run.output.isEmpty)
        let wrong = word.split(separator: "=").last { $0 != "least" } ?? ""
        #expect(run.errors.split(separator: "\n").first?.contains("'\(wrong)'") == true, "\(run.errors)")
    }

    /// The first word of each line that is indented.
    private static func names(in help: String) -> [String] {
        let lines = help.split(separator: "\n").filter { $0.hasPrefix("  ") }
        return lines.map { String($0.drop { $0 == " " }.prefix { $0 != " " }) }
    }

    /// The names of the table at the end, whose columns are two spaces apart, of those lines that have a number.
    private static func figures(in output: String) -> [String] {
        let lines = output.split(separator: "\n").drop { $0 != "figures of this run:" }.dropFirst()
        return lines.compactMap { line -> String? in
            let text = line.dropFirst(2)
            let indent = text.prefix { $0 == " " }
            let columns = text.split(separator: "  ", maxSplits: 1).map { $0.drop { $0 == " " } }
            guard columns.count == 2, columns[1].first?.isNumber == true else { return nil }
            return "\(indent)\(columns[0])"
        }
    }
}
