import ApplePush

/// The metrics of the program, for all its databases together.
struct ProgramMetrics {
    let traffic: Traffic
    let logLinesLost: Int
    let version: String

    var measurements: MetricsText {
        var metrics = MetricsText()
        metrics.begin("carillon_build_info", .gauge, "The program's version; always 1.")
        metrics.add(1, ["version": version])
        metrics.begin("carillon_connections", .gauge, "Open connections to gateways.")
        metrics.add(traffic.connections)
        metrics.begin(
            "carillon_connection_ends_total",
            .counter,
            "Connections to gateways that ended or could not be opened, by cause."
        )
        for (end, count) in traffic.ends.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["end": end]) }
        metrics.begin("carillon_late_answers_total", .counter, "Pushes abandoned after --request-timeout.")
        metrics.add(traffic.lateAnswers)
        metrics.begin(
            "carillon_send_to_answer_seconds",
            .histogram,
            "Time from a request to its answer, whatever the answer."
        )
        metrics.add(traffic.answerTimes)
        metrics.begin(
            "carillon_log_lines_lost_total",
            .counter,
            "Lines of the log that could not be written, or found no room because its reader was too slow."
        )
        metrics.add(logLinesLost)
        return metrics
    }
}
