/// The list in docs/metrics.md, made from what `/metrics` serves.
struct MetricsReference {
    /// A family of samples, and the labels that they carry.
    private struct Family {
        let name: String
        let help: String
        var kind = ""
        var labels: [String] = []
    }

    /// The part of the page that is written by hand begins here.
    static let mark = "<!-- `make docs` writes this page up to here. -->"

    private var families: [Family] = []

    /// - Parameter exposition: samples of every family, in the text format of Prometheus.
    init(exposition: String) {
        for line in exposition.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if words.count == 4, words[0] == "#", words[1] == "HELP" {
                families.append(Family(name: words[2], help: words[3]))
            } else if words.count == 4, words[0] == "#", words[1] == "TYPE" {
                families[families.count - 1].kind = words[3]
            } else if line.contains("{") {
                for match in line.matches(of: #/([a-z_]+)="/#) {
                    let label = String(match.output.1)
                    if label != "le", !families[families.count - 1].labels.contains(label) {
                        families[families.count - 1].labels.append(label)
                    }
                }
            }
        }
    }

    /// Families of which there is no sample, so that their labels are unknown.
    func unsampled(in exposition: String) -> [String] {
        families.map(\.name).filter { name in
            !exposition.split(separator: "\n").contains { !$0.hasPrefix("#") && $0.hasPrefix(name) }
        }
    }

    var text: String {
        """
        # Metrics

        `carillon worker --http 127.0.0.1:9464` serves these metrics at `/metrics`, in the text format of Prometheus. The list
        is generated from the program. Below it are [the values of labels](#values-of-labels) and [alerts](#alerts).

        Counters start at 0 when the worker starts. A worker with several databases adds the label `database` to each sample that
        is about one of them.

        Every worker serves the state of the whole database, for all apps: `carillon_app_held`, `carillon_ready_jobs`,
        `carillon_scheduled_jobs`, `carillon_oldest_ready_job_age_seconds`, `carillon_credential_expiry_seconds`,
        `carillon_workers` and the metrics of maintenance. It reads them at most once a second, and omits them while the
        database does not answer.

        The text is made at most five times a second: requests within 200 ms of each other get the same one.

        | metric | type | labels | meaning |
        |---|---|---|---|
        \(families.sorted { $0.name < $1.name }.map(row).joined(separator: "\n"))


        """
    }

    private func row(of family: Family) -> String {
        "| `\(family.name)` | \(family.kind) | \(family.labels.map { "`\($0)`" }.joined(separator: ", ")) | \(family.help) |"
    }
}
