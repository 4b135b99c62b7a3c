import Simulator

extension Delivery {
    /// A request as a line for people: its answer, the headers that differ from the default, and the payload.
    func line(usualTopic: String) -> String {
        let answer = (status.map { "\($0)" } ?? "no answer") + (reason.map { " \($0)" } ?? "")
        let parts = ["APNs      \(token.prefix(8))…", answer, unusual(usualTopic).joined(separator: ", ")]
        return (parts.filter { !$0.isEmpty } + [String(decoding: payload, as: UTF8.self)])
            .joined(separator: "  ").visible
    }

    private func unusual(_ usualTopic: String) -> [String] {
        var headers: [String] = []
        if let pushType, pushType != "alert" { headers.append("push type \(pushType)") }
        if let priority, priority != "10" { headers.append("priority \(priority)") }
        if let collapseID { headers.append("collapse id \(collapseID)") }
        if let topic, topic != usualTopic { headers.append("topic \(topic)") }
        if expiration == "0" {
            headers.append("not stored")
        } else if let expiration {
            headers.append("expires \(Int64(expiration).map { UnixTimeText.text($0 * 1_000_000) } ?? expiration)")
        }
        return headers
    }
}
