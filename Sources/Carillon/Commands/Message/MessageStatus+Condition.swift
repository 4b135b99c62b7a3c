import CarillonPostgres
import CarillonSchema
import CarillonText

extension MessageStatus {
    /// Its state, and what it waits for, as in "retrying, after 503 ServiceUnavailable, next at 2026-11-22T11:45:00Z."
    var condition: String {
        guard waiting > 0 else {
            return state.rawValue + (mayHaveArrived ? ", though an attempt had no answer and may have arrived." : ".")
        }
        let cause = lastAnswer.map { ", after \($0.visible)" } ?? ""
        let time = nextAttemptAt.map { ", next at \($0.text)" } ?? ""
        let text = state.rawValue + cause + time + (waitingReason.map { "; \($0.visible)" } ?? "")
        return text.last.map { ".?!".contains($0) } == true ? text : text + "."
    }
}

extension MessageStatus.TokenOutcome {
    /// As in "9f3a: failed, 400 BadDeviceToken".
    var line: String {
        let parts = [token + ": " + state.rawValue, answer, uniqueID.map { "apns-unique-id \($0)" } ?? ""]
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }
}
