import Glibc

/// `carillon-bench [--plots FOLDER] [short | long | NAME | NAME=SIZE | NAME=least]...`: measures what is named, or all that is
/// short, prints one table, and draws a plot of each benchmark.
///
/// Everything runs on this machine: the stand-in for APNs on a thread of this process, PostgreSQL and the worker as processes.
@main
struct Main {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        if ["help", "--help", "-h"].contains(words.first) { return print(Benchmark.usage) }
        var plots: String?
        if words.first == "--plots", words.count > 1 {
            plots = words[1]
            words.removeFirst(2)
        }
        let selections: [Selection]
        do {
            selections = try Selection.parse(words)
        } catch {
            end(2, saying: "\(error)\n\n\(Benchmark.usage)")
        }
        var reports: [Report] = []
        do {
            let machine = Machine.description
            print(machine)
            for selection in selections {
                var report = Report(isJudged: selection.isJudged)
                try await selection.benchmark.run(selection.size, &report)
                reports.append(report)
                guard let plots else { continue }
                let plot = Plot(title: selection.title, caption: machine, figures: report.figures)
                try plot.write(to: "\(plots)/\(selection.benchmark.name).svg")
            }
        } catch {
            end(1, saying: "\(error)")
        }
        print(Report.table(of: reports))
        if reports.contains(where: \.hasMissed) { exit(1) }
    }

    private static func end(_ status: CInt, saying text: String) -> Never {
        let bytes = Array((text + "\n").utf8)
        write(STDERR_FILENO, bytes, bytes.count)
        exit(status)
    }
}
