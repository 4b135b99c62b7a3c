import CarillonPostgres
import CarillonSchema
import CarillonText

struct BroadcastRow: Record {
    let id: Int64
    let app: String
    let reference: String?
    let tokens: Int64
    let createdAt: Moment
    let cancelledAt: Moment?
    let sent: Int64
    let failed: Int64
    let expired: Int64
    let cancelled: Int64
    let waiting: Int64
    let finishedAt: Moment?
    /// Seconds since it was enqueued.
    let elapsed: Double
    let maxRate: Int64?
    /// How many of the newest were read, to choose from.
    let newest: Int64

    var ended: Int64 { tokens - waiting }

    /// Pushes a second since it was enqueued, limited by the present max_rate of the app.
    var rate: Double { min(elapsed > 0 ? Double(ended) / elapsed : 0, maxRate.map(Double.init) ?? .infinity) }

    /// Estimated seconds until it ends; nil if it has ended or has not begun.
    var timeLeft: Int64? {
        guard waiting > 0, rate > 0 else { return nil }
        let seconds = Double(waiting) / rate
        return seconds < 366 * 86_400 ? Int64(seconds) : nil
    }

    var state: String {
        if cancelledAt != nil { return waiting > 0 ? "being cancelled" : "cancelled" }
        return waiting > 0 ? "under way" : "ended"
    }

    var mark: StateMark {
        if waiting > 0 { return .attention }
        return failed > 0 || cancelledAt != nil ? .quiet : .good
    }

    var json: JSONValue {
        [
            "id": id, "app": app, "reference": reference, "state": state, "tokens": tokens, "sent": sent,
            "failed": failed,
            "expired": expired, "cancelled": cancelled, "waiting": waiting, "created_at": createdAt,
            "cancelled_at": cancelledAt, "finished_at": finishedAt,
            "per_second": waiting > 0 ? rate : nil, "seconds_left": timeLeft,
        ]
    }
}
