import PushQueue

extension LockHolder {
    /// "process 4242 (psql, user bob, idle in transaction) has locked carillon.results for 34s, and 2 sessions wait for it".
    var sentence: String {
        var text = isWhole ? "\(who) has locked \(relations)" : "\(who) may have locked rows of \(relations)"
        if let seconds { text += " for \(DurationText.write(.seconds(Int64(seconds))))" }
        if waiting > 0 {
            text += ", and \(Counted.text(waiting, "session")) \(waiting == 1 ? "waits" : "wait") for it"
        }
        return text
    }
}
