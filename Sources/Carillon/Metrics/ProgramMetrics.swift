import ApplePush

/// The metrics of the program, for all its databases together.
struct ProgramMetrics {
    let traffic: Traffic
    let logLinesLost: Int
    let version: String

    var measurements: MetricsText {
        var metrics = MetricsText()
        metrics.begin(.buildInfo)
        metrics.add(1, ["version": version])
        metrics.add(.connections, traffic.connections)
        metrics.begin(.connectionEnds)
        for (end, count) in traffic.ends.sorted(by: { $0.key < $1.key }) { metrics.add(count, ["end": end]) }
        metrics.add(.lateAnswers, traffic.lateAnswers)
        metrics.add(.sendToAnswer, traffic.answerTimes)
        metrics.add(.logLinesLost, logLinesLost)
        return metrics
    }
}
