import CarillonSchema
import CarillonText
import CarillonWeb

/// Explains the events of a token, for each app that knows it.
enum TokenStory {
    /// - Parameter events: newest first.
    static func sentences(_ events: [TokenEvent]) -> [String] {
        var apps: [String] = []
        for event in events where !apps.contains(event.app) { apps.append(event.app) }
        return apps.flatMap { app in sentences(of: app, events.filter { $0.app == app }) }
    }

    private static func sentences(of app: String, _ events: [TokenEvent]) -> [String] {
        var sentences: [String] = []
        let registered = events.first { $0.event == .registered }
        let dead = events.first { $0.event == .deadSince }
        switch (registered?.at, dead?.at) {
        case (let registered?, let dead?) where registered.microseconds < dead.microseconds:
            sentences.append(
                "\(app): Apple reported it dead after it was last registered; the next feedback pass deletes it."
            )
        case (_?, _): sentences.append("\(app): it is registered, so broadcasts reach it.")
        case (nil, _?):
            sentences.append("\(app): Apple reported it dead, and it is not registered: broadcasts do not reach it.")
        case (nil, nil): sentences.append("\(app): it is not registered, so broadcasts do not reach it.")
        }
        if let failure = events.first(where: { $0.event == .failed }), let reason = failure.reason {
            sentences.append(
                "\(app): the last push to it that failed has the reason \(reason). \(ReasonSentence.text(for: reason))"
            )
        }
        let waiting = events.count { [.ready, .scheduled, .inFlight].contains($0.event) }
        if waiting > 0 {
            let jobs = Counted.text(
                Int64(waiting),
                "job that waits or is in flight contains",
                "jobs that wait or are in flight contain"
            )
            sentences.append("\(app): \(jobs) it.")
        }
        return sentences
    }
}
