import PushQueue

/// Logs what feedback passes did.
struct FeedbackLog: Sendable {
    let log: Log

    func tell(_ report: FeedbackLists.Summary) {
        if let failure = report.failure {
            log.error(
                "An app's list of dead tokens could not be read to its end.",
                [
                    "app": .string(report.app), "gateway": JSONValue(report.gateway),
                    "tokens": .int(Int64(report.tokens)),
                    "error": .string(failure),
                ]
            )
        } else {
            log.info(
                "Read an app's list of dead tokens.",
                [
                    "app": .string(report.app), "gateway": JSONValue(report.gateway),
                    "tokens": .int(Int64(report.tokens)),
                ]
            )
        }
    }

    /// A pass that found nothing is logged at the lowest level.
    func tell(_ tally: FeedbackTally, in duration: Duration) {
        for fault in tally.faults {
            log.error("A watched table could not be reaped.", ["error": .string(fault)])
        }
        let fields: KeyValuePairs<String, JSONValue> = [
            "reaped": .int(Int64(tally.total)),
            "by_app": .object(tally.deleted.sorted { $0.key < $1.key }.map { ($0.key, .int(Int64($0.value))) }),
            "feedback": .int(Int64(tally.handled)), "seconds": .double(duration.roundedSeconds),
        ]
        if !tally.isWhole {
            log.info("A feedback pass was interrupted; another will continue it.", fields)
        } else if tally.total > 0 {
            log.info("Reaped dead tokens.", fields)
        } else {
            log.debug("A feedback pass found nothing to delete.", fields)
        }
    }
}
