import PushQueue

extension LockHolder {
    /// "process 4242 (psql, user bob, idle in transaction) has locked carillon.results for 34s, and 2 sessions wait for it".
    var sentence: String {
        var text = isWhole ? "\(who) has locked \(relations)" : "\(who) may have locked rows of \(relations)"
        if let seconds {
            let age: Duration = seconds < 1 ? .milliseconds(Int64(seconds * 1000)) : .seconds(Int64(seconds))
            text += " for \(DurationText.write(age))"
        }
        if waiting > 0 {
            text += ", and \(Counted.text(waiting, "session")) \(waiting == 1 ? "waits" : "wait") for it"
        }
        return text
    }
}
