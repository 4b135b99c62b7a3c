import CarillonPushQueue
import CarillonText

struct FeedbackLog: Sendable {
    let log: Log

    func tell(_ report: FeedbackLists.Summary) {
        if let failure = report.failure {
            log.error(
                "An app's list of dead tokens could not be read to its end.",
                ["app": report.app, "gateway": report.gateway, "tokens": report.tokens, "error": failure]
            )
        } else {
            log.info(
                "Read an app's list of dead tokens.",
                ["app": report.app, "gateway": report.gateway, "tokens": report.tokens]
            )
        }
    }

    /// A pass that found nothing is logged at the lowest level.
    func tell(_ tally: FeedbackTally, in duration: Duration) {
        for fault in tally.faults {
            log.error("Dead tokens could not be deleted from a watched table.", ["error": fault])
        }
        let fields: KeyValuePairs<String, any JSONConvertible> = [
            "reaped": tally.total,
            "by_app": JSONValue(tally.deleted),
            "feedback": tally.handled, "seconds": duration.roundedSeconds,
        ]
        if !tally.isComplete {
            log.info("A feedback pass was interrupted; another will continue it.", fields)
        } else if tally.total > 0 {
            log.info("Reaped dead tokens.", fields)
        } else {
            log.debug("A feedback pass found nothing to delete.", fields)
        }
    }
}
