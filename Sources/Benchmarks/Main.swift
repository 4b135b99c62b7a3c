import Glibc

/// `carillon-bench [sender] [rows] [tokens]`: measures what is named, or all, and prints one table.
///
/// Everything runs on this machine, beside what it measures: the stand-in for APNs in this process on a thread of its
/// own, PostgreSQL and the worker as processes of their own.
@main
struct Main {
    static func main() async {
        let names = Array(CommandLine.arguments.dropFirst())
        guard let chosen = Benchmark.chosen(names) else {
            print("usage: carillon-bench [\(Benchmark.allCases.map(\.rawValue).joined(separator: "] ["))]")
            exit(2)
        }
        var report = Report()
        do {
            print(Machine.current.description)
            for benchmark in chosen { try await benchmark.run(into: &report) }
        } catch {
            print("\(error)")
            exit(1)
        }
        print(report.description)
        if report.hasMissed { exit(1) }
    }
}
