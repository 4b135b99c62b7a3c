import TestSupport
import Testing

@testable import CarillonBenchmarks

/// `docs/benchmarks.md` and its plots say what `docs/benchmarks.json` and `docs/peers.json` say. `make plots` writes them.
@Suite struct BenchmarkPageTests {
    @Test func `the tables of the page are those of the data`() throws {
        let runs = try BenchmarkRecord(BenchmarkPage.data.file).runs
        #expect(runs.count > 10)
        let page = BenchmarkPage.page
        let text = try #require(BenchmarkPage.text(try page.text, with: runs), "the page has no place for tables")
        let peers = try PeersRecord.recorded()
        try page.expect(try #require(PeersPage.text(text, with: peers), "the page has no place for the peers"))
        let model = try DatabaseModel.lines(from: runs)
        try page.expect(model, after: "| databases | their cores |", before: "\n\nWith 64 databases", skipping: 1)
    }

    @Test(.enabled(if: !GeneratedPage.isWritten, "the page is being written"))
    func `the README shows figures of the page, and where they were measured`() throws {
        let page = try BenchmarkPage.page.text.split(separator: "\n\n")
        let shown = try GeneratedPage("README.md").text.split(separator: "\n\n")
        let table = try #require(shown.firstIndex { $0.hasPrefix("| what | measured |") })
        let place = try #require(page.firstIndex(of: shown[table - 1]), "\(shown[table - 1])")
        #expect(Set(shown[table].split(separator: "\n")).isSubset(of: page[place + 1].split(separator: "\n")))
    }

    @Test func `the plots of the page are drawn from the data`() throws {
        let runs = try BenchmarkRecord(BenchmarkPage.data.file).runs
        let names = BenchmarkPage.plotted(on: try BenchmarkPage.page.text)
        #expect(!names.isEmpty)
        for name in names {
            let run = try #require(runs.first { $0.benchmark == name }, "\(name) is not in the data")
            try GeneratedPage("docs/plots/\(name).svg").expect(BenchmarkPage.plot(of: run).svg)
        }
        for drawn in try PeersRecord.recorded().map(PeersPage.plots) ?? [] {
            try GeneratedPage("docs/plots/\(drawn.file)").expect(drawn.plot.svg)
        }
    }

    @Test func `each run of the data names its benchmark, and where and how it was measured`() throws {
        for run in try BenchmarkRecord(BenchmarkPage.data.file).runs {
            #expect(BenchmarkFigures.all[run.benchmark] != nil, "\(run.benchmark)")
            #expect(run.command.hasPrefix("carillon-bench \(run.benchmark)"))
            #expect(!run.machine.isEmpty && !run.commit.isEmpty && !run.figures.isEmpty, "\(run.benchmark)")
        }
    }
}
