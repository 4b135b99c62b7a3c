import Glibc

/// `carillon-bench [--record FILE] [short | long | NAME | NAME=SIZE | NAME=least]...`: runs the named benchmarks, or all short
/// ones, prints one table, and keeps the figures in a file.
///
/// Everything runs on this machine: the simulator on a thread of this process, PostgreSQL and the worker as separate processes.
@main
struct Main {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        if ["help", "--help", "-h"].contains(words.first) { return print(Benchmark.usage) }
        var file: String?
        if words.first == "--record", words.count > 1 {
            file = words[1]
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
            print("commit \(Machine.commit), \(Machine.description)")
            for selection in selections {
                var report = Report(isJudged: selection.isJudged)
                try await selection.benchmark.run(selection.size, &report)
                reports.append(report)
                guard let file else { continue }
                // Write after each benchmark, so that an unwritable file is noticed early.
                var record = try BenchmarkRecord(file)
                record.add(
                    BenchmarkRecord.Run(
                        benchmark: selection.benchmark.name,
                        command: selection.title,
                        machine: Machine.description,
                        commit: Machine.commit,
                        figures: report.figures
                    )
                )
                try record.write(to: file)
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
