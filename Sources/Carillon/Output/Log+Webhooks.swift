import CarillonText
import CarillonWebhooks

extension Log {
    /// What a worker says about webhooks. As with its other events, programs find the name, and people read the sentence.
    func write(_ report: WebhookReport) {
        switch report {
        case .failing(let webhook, let app, let error):
            warning(
                "A webhook fails; it is attempted again.",
                ["event": "webhook_failing", "webhook": webhook, "app": app, "error": error]
            )
        case .recovered(let webhook, let app):
            info("A webhook works again.", ["event": "webhook_recovered", "webhook": webhook, "app": app])
        case .paused(let webhook, let app, let error):
            self.error(
                "A webhook was paused; its events wait.",
                [
                    "event": "webhook_paused", "webhook": webhook, "app": app, "error": error,
                    "remedy": "When its receiver works again, run 'carillon webhook resume \(webhook.shellQuoted)'.",
                ]
            )
        case .databaseLost(let error):
            warning(
                "Webhooks wait until PostgreSQL can be used again.",
                ["event": "webhooks_wait", "error": CommandError(explaining: error).sentence]
            )
        case .databaseBack: info("Webhooks are posted again.", ["event": "webhooks_back"])
        }
    }
}
