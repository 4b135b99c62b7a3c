import ApplePush
import CarillonIO
import CarillonText

extension WorkerEvent {
    package static func feedbackRead(_ list: LegacyFeedbackQueue.Summary) -> Self {
        let fields: KeyValuePairs<String, any JSONConvertible> = [
            "app": list.app, "gateway": list.gateway, "tokens": list.tokens,
        ]
        guard let failure = list.failure else {
            return Self(.feedbackRead, .info, "Read an app's list of dead tokens.").with(fields)
        }
        return Self(.feedbackRead, .error, "An app's list of dead tokens could not be read to its end.")
            .with(fields).with(["error": failure])
    }

    /// A feedback pass, or a part of one, was run. One that found nothing is logged at the lowest level.
    package static func feedbackPass(_ tally: ReapTally, in duration: Duration) -> [Self] {
        let reaped =
            switch (tally.isComplete, tally.total) {
            case (false, _): Self(.reaped, .info, "A feedback pass was interrupted; another will continue it.")
            case (true, 0): Self(.reaped, .debug, "A feedback pass found nothing to delete.")
            case (true, _): Self(.reaped, .info, "Reaped dead tokens.")
            }
        let faults = tally.faults.map { fault in
            Self(.notReaped, .error, "Dead tokens could not be deleted from a watched table.")
                .with(["error": fault]).counted { $0[.feedbackFaults] += 1 }
        }
        return faults + [
            reaped.with(["reaped": tally.total, "by_app": JSONValue(tally.deleted), "feedback": tally.handled])
                .with(["seconds": duration.roundedSeconds])
                .counted {
                    $0.reaped.merge(tally.deleted, uniquingKeysWith: +)
                    $0[.feedbackHandled] += tally.handled
                    if tally.isComplete { $0.feedbackPasses.add(nanoseconds: duration.nanoseconds) }
                }
        ]
    }
}
