import ApplePush

/// Metrics in the text format of Prometheus.
struct MetricsText {
    enum Kind: String { case counter, gauge, histogram }

    private var families: [(name: String, heading: String, samples: String)] = []
    /// A label of every sample.
    private let label: (String, String)?

    init(label: (String, String)? = nil) { self.label = label }

    var text: String { families.map { $0.heading + $0.samples }.joined() }

    /// Merges the metrics of others: a family appears once, with all its samples.
    mutating func merge(_ other: MetricsText) {
        for family in other.families {
            if let index = families.firstIndex(where: { $0.name == family.name }) {
                families[index].samples += family.samples
            } else {
                families.append(family)
            }
        }
    }

    /// Begins a family; the samples after it belong to it.
    mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        precondition(kind != .counter || name.hasSuffix("_total"), "a counter's name ends with _total: \(name)")
        let heading = "# HELP \(name) \(Self.escape(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        families.append((name, heading, ""))
    }

    /// Begins a counter, if its name ends with `_total`, or a gauge.
    mutating func begin(_ name: String, _ help: String) {
        begin(name, name.hasSuffix("_total") ? .counter : .gauge, help)
    }

    mutating func add(_ name: String, _ help: String, _ value: some BinaryInteger) {
        begin(name, help)
        add(value)
    }

    mutating func add(_ name: String, _ help: String, _ durations: DurationHistogram) {
        begin(name, .histogram, help)
        addHistogram(bounds: DurationHistogram.seconds, counts: durations.counts, sum: durations.sum)
    }

    mutating func add(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
        add(suffix: "", value, labels.map { ($0.key, $0.value) })
    }

    mutating func add(_ value: some BinaryInteger, _ labels: KeyValuePairs<String, String> = [:]) {
        add(Double(value), labels)
    }

    /// - Parameters:
    ///   - bounds: the upper bounds of the buckets.
    ///   - counts: how many fell into each bucket alone, with one more for values above the last bound.
    mutating func addHistogram(
        bounds: [Double],
        counts: [UInt64],
        sum: Double,
        _ labels: KeyValuePairs<String, String> = [:]
    ) {
        precondition(counts.count == bounds.count + 1, "one bucket more than bounds")
        let labels = labels.map { ($0.key, $0.value) }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds.map(Self.number) + ["+Inf"], counts) {
            total += count
            add(suffix: "_bucket", Double(total), labels + [("le", bound)])
        }
        add(suffix: "_sum", sum, labels)
        add(suffix: "_count", Double(total), labels)
    }

    private mutating func add(suffix: String, _ value: Double, _ labels: [(String, String)]) {
        guard let family = families.last?.name else { preconditionFailure("a sample belongs to a family") }
        let labels = (label.map { [$0] } ?? []) + labels
        let pairs = labels.map { "\($0)=\"\(Self.escape($1, quotes: true))\"" }.joined(separator: ",")
        families[families.count - 1].samples +=
            family + suffix + (pairs.isEmpty ? "" : "{\(pairs)}") + " \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        // By Unicode scalars: a line break after a carriage return, or a quote with an accent, is one character.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
