import Glibc

/// `carillon-bench [short | long | NAME | NAME=SIZE | NAME=least]...`: measures what is named, or all that is short, and
/// prints one table.
///
/// Everything runs on this machine, beside what it measures: the stand-in for APNs in this process on a thread of its
/// own, PostgreSQL and the worker as processes of their own.
@main
struct Main {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        if ["help", "--help", "-h"].contains(words.first) {
            print(Benchmark.usage)
            return
        }
        let orders: [Order]
        do {
            orders = try Order.parse(words)
        } catch {
            self.end(2, saying: "\(error)\n\n\(Benchmark.usage)")
        }
        var report = Report()
        do {
            print(Machine.current.description)
            for order in orders {
                report.isJudged = order.isJudged
                try await order.benchmark.run(size: order.size, into: &report)
            }
        } catch {
            self.end(1, saying: "\(error)")
        }
        print(report.description)
        if report.hasMissed { exit(1) }
    }

    private static func end(_ status: CInt, saying text: String) -> Never {
        let bytes = Array((text + "\n").utf8)
        write(STDERR_FILENO, bytes, bytes.count)
        exit(status)
    }
}
