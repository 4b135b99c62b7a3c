import ApplePush
import CarillonSchema
import CarillonText

extension WorkerEvent {
    /// Another worker had taken the claim over before it was settled.
    static func stale(claim: Int64) -> Self {
        Self(.stale, .warning, "The outcome of a claim came too late to be recorded.")
            .with(["claim": claim]).counted { $0[.stale] += 1 }
    }

    /// - Parameter isWritten: whether a part of the outcome is recorded.
    static func unrecorded(app: String, message: Int64, error: String, isWritten: Bool) -> Self {
        let part = "PostgreSQL refused part of a message's outcome; 'carillon message show \(message)' shows the rest."
        let all = "PostgreSQL refused a message's outcome: nothing of it is recorded."
        return Self(.unrecorded, .error, isWritten ? part : all)
            .with(["app": app, "message_id": message, "error": error]).counted { $0[.unrecorded] += 1 }
    }

    /// The worker tries until the cause is removed.
    static func cannotEnd(app: String, message: Int64, error: String) -> Self {
        let remedy =
            "While this worker runs, remove the trigger or constraint that was added to carillon.inflight or "
            + "carillon.unfinished."
        let sentence =
            "PostgreSQL refuses to end a message whose pushes were sent. It stays in flight and is tried again."
        return Self(.cannotEnd, .error, sentence)
            .with(["app": app, "message_id": message, "error": error, "remedy": remedy])
    }

    static func split(app: Int32, message: Int64, jobs: Int) -> Self {
        Self(.split, .info, "A job had more tokens than one job may have, and was split.")
            .with(["app_id": app, "message_id": message, "jobs": jobs])
    }

    /// - Parameter pushes: How many were tried again for that cause since this was logged last.
    static func retrying(app: String, _ cause: RetryCause, pushes: Int) -> Self {
        Self(.retrying, .warning, "Pushes will be retried.")
            .with(["app": app, "status": cause.status, "reason": cause.reason, "pushes": pushes])
    }

    /// - Parameter topic: The topic of one of the pushes, or nil if the credential decides it.
    static func topicRefused(app: String, topic: String?, _ item: TopicRefusalEvents.Item) -> Self {
        let reason = item.refusal.reason.name ?? ""
        let ending = item.sent == 0 ? ", and none was sent meanwhile." : "."
        return Self(.topicRefused, .warning, "Pushes fail for good because of their topic" + ending)
            .with(["app": app, "topic": topic, "status": item.refusal.status, "reason": reason, "pushes": item.pushes])
            .with(["sent": item.sent, "remedy": ReasonText.remedy(for: reason, of: app)])
    }
}
