import Glibc

/// `carillon-bench [short | long | NAME | NAME=SIZE]...`: measures what is named, or all that is short, and prints one
/// table.
///
/// Everything runs on this machine, beside what it measures: the stand-in for APNs in this process on a thread of its
/// own, PostgreSQL and the worker as processes of their own.
@main
struct Main {
    static func main() async {
        guard let orders = Order.parse(Array(CommandLine.arguments.dropFirst())) else {
            print(Benchmark.usage)
            exit(2)
        }
        var report = Report()
        do {
            print(Machine.current.description)
            for order in orders { try await order.benchmark.run(size: order.size, into: &report) }
        } catch {
            print("\(error)")
            exit(1)
        }
        print(report.description)
        if report.hasMissed { exit(1) }
    }
}
