import ApplePush

/// The metrics of the program, for all its databases together.
struct ProgramMetrics {
    let traffic: Traffic
    let logLinesLost: Int
    let version: String

    var measurements: MetricsText {
        var metrics = MetricsText()
        metrics.begin("carillon_build_info", "The program's version; always 1.")
        metrics.add(1, ["version": version])
        metrics.add("carillon_connections", "Open connections to gateways.", traffic.connections)
        metrics.begin(
            "carillon_connection_ends_total",
            "Connections to gateways that ended or could not be opened, by cause."
        )
        for (end, count) in traffic.ends.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["end": end]) }
        metrics.add(
            "carillon_push_timeouts_total",
            "Pushes that got no answer within --request-timeout.",
            traffic.lateAnswers
        )
        metrics.add(
            "carillon_send_to_answer_seconds",
            "Time from a request to its answer, whatever the answer.",
            traffic.answerTimes
        )
        metrics.add(
            "carillon_log_lines_lost_total",
            "Log lines that could not be written, or were dropped because the reader was too slow.",
            logLinesLost
        )
        return metrics
    }
}
