/// Whose request for a channel is next: each app has one in turn, and an app whose channel service did not answer is asked again
/// when no other app waits, once in a round.
struct ChannelTurns {
    /// Apps whose last request was not answered.
    private var silent: Set<Int32> = []
    /// Those of them that were asked in this round.
    private var tried: Set<Int32> = []
    /// Apps that have had their turn.
    private var served: Set<Int32> = []

    mutating func beginRound() {
        tried = []
        served = []
    }

    /// The apps to skip, best choice first.
    var choices: [Set<Int32>] {
        var choices = [served.union(silent)]
        if !served.isSubset(of: silent) { choices.append(silent) }
        if tried != silent { choices.append(tried) }
        return choices
    }

    mutating func asked(_ app: Int32, isAnswered: Bool) {
        // All others that wait have had their turn, too.
        if served.contains(app) { served = [] }
        served.insert(app)
        if isAnswered {
            silent.remove(app)
            tried.remove(app)
        } else {
            silent.insert(app)
            tried.insert(app)
        }
    }

    /// The same apps, those that did not answer last.
    func ordered(_ apps: [Int32]) -> [Int32] {
        apps.filter { !silent.contains($0) } + apps.filter { silent.contains($0) }
    }
}
