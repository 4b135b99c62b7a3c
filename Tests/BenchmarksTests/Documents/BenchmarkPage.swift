import TestSupport

@testable import CarillonBenchmarks

/// The part of `docs/benchmarks.md` that is made from `docs/benchmarks.json`, and the plots.
enum BenchmarkPage {
    static let page = GeneratedPage("docs/benchmarks.md")
    static let data = GeneratedPage("docs/benchmarks.json")
    private static let begin = "<!-- `make plots` writes this from benchmarks.json. -->\n"
    private static let end = "<!-- end -->\n"

    /// The page with the tables of these runs; nil: it has no place for them.
    static func text(_ page: String, with runs: [BenchmarkRecord.Run]) -> String? {
        guard let start = page.firstRange(of: begin), let stop = page.firstRange(of: end) else { return nil }
        return "\(page[..<start.upperBound])\(tables(of: runs))\(page[stop.lowerBound...])"
    }

    /// A table for each machine and commit.
    private static func tables(of runs: [BenchmarkRecord.Run]) -> String {
        var places: [String] = []
        for run in runs where !places.contains(place(of: run)) { places.append(place(of: run)) }
        return places.map { place in
            let rows = runs.filter { self.place(of: $0) == place }.flatMap { run in run.figures.map { row($0, of: run) }
            }
            return "\n\(place):\n\n| what | measured | goal | command |\n|---|---|---|---|\n"
                + rows.joined(separator: "\n") + "\n"
        }.joined() + "\n"
    }

    private static func place(of run: BenchmarkRecord.Run) -> String { "\(run.machine), commit \(run.commit)" }

    private static func row(_ figure: Figure, of run: BenchmarkRecord.Run) -> String {
        let name = figure.name.drop { $0 == " " } + (figure.isQuotient ? " (ratio)" : "")
        let indent = figure.name.hasPrefix(" ") ? "&emsp;" : ""
        return "| \(indent)\(name) | \(figure.text) | \(figure.boundText) | `\(run.command)` |"
    }

    // MARK: Plots

    /// The benchmarks whose plot the page shows.
    static func plotted(on page: String) -> [String] {
        page.matches(of: #/\(plots/([a-z]+)\.svg\)/#).map { String($0.output.1) }
    }

    static func plot(of run: BenchmarkRecord.Run) -> Plot {
        Plot(title: run.command, caption: place(of: run), figures: run.figures)
    }
}
