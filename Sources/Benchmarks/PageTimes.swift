/// How long the answers for one address took, and how large they were.
struct PageTimes {
    let address: String
    /// Milliseconds.
    let times: Sample
    /// The size of the largest answer.
    let bytes: Int
    /// 200, or the status of an answer that differs.
    let status: Int

    init(_ address: String, _ answers: [WebClient.PageAnswer]) {
        self.address = address
        times = Sample(answers.map { $0.time / .milliseconds(1) })
        bytes = answers.map(\.bytes).max() ?? 0
        status = answers.map(\.status).first { $0 != 200 } ?? 200
    }

    var line: String {
        let figures = [times.median, times[0.95], times[1]].map { Figure.Unit.milliseconds.text(of: $0) }
        return figures.joined(separator: "  ") + "  \(Figure.grouped(Double(bytes)))  \(address)"
    }
}
