import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct ScheduledJob: Record {
    let app: String?
    let id: Int64
    let messageID: Int64
    let runAt: Moment
    let tokens: Int64
    let attempt: Int64
    let lastStatus: Int64?
    let lastReason: String?
    let reference: String?
    let json: JSONValue

    var isRetry: Bool { attempt > 1 }

    var lastAnswer: String {
        guard isRetry else { return "–" }
        return [lastStatus.map(String.init), lastReason ?? "no answer"].compactMap { $0 }.joined(separator: " ")
    }
}
