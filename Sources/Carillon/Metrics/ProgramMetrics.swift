import ApplePush

/// What the program counts for all its databases together, for Prometheus.
struct ProgramMetrics {
    let traffic: Traffic
    let version: String

    var measurements: MetricsText {
        var metrics = MetricsText()
        metrics.begin("carillon_build_info", .gauge, "The program's version; always 1.")
        metrics.add(1, ["version": version])
        metrics.begin("carillon_connections", .gauge, "Connections to gateways that are open.")
        metrics.add(traffic.connections)
        metrics.begin(
            "carillon_connection_ends_total",
            .counter,
            "Connections to gateways that have ended, or never came to be, by what ended them."
        )
        for (end, count) in traffic.ends.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["end": end]) }
        metrics.begin("carillon_late_answers_total", .counter, "Pushes that were given up unanswered in time.")
        metrics.add(traffic.lateAnswers)
        metrics.begin(
            "carillon_send_to_answer_seconds",
            .histogram,
            "How long gateways took from a request to its answer, whatever it said."
        )
        metrics.add(traffic.answerTimes)
        return metrics
    }
}
