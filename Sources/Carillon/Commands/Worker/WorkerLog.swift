import CarillonPushQueue
import CarillonSchema

struct WorkerLog: Sendable {
    let log: Log

    func tell(_ event: WorkerEvent) {
        switch event {
        case .started(let worker):
            log.info("The worker has started.", ["worker": worker, "version": Program.version])
        case .databaseLost(let reason):
            log.warning(
                "The connection to the database was lost; pushes that were sent will be settled when it is back.",
                ["reason": reason]
            )
        case .databaseAway(let error, suppressed: 0):
            log.warning("The database cannot be reached; trying again.", ["error": error])
        case .databaseAway(let error, let suppressed):
            log.warning(
                "The database still cannot be reached; trying again.",
                ["error": error, "more_since_last": suppressed]
            )
        case .databaseBack:
            log.info("The database is back.")
        case .databaseError(let error, suppressed: 0):
            log.warning("A statement failed and will be tried again.", ["error": error])
        case .databaseError(let error, let suppressed):
            log.warning(
                "Statements keep failing and will be tried again.",
                ["error": error, "more_since_last": suppressed]
            )
        case .lockMet(let error, let suppressed, let holders):
            log.warning(
                "A statement met a lock that another session holds, and will be tried again.",
                ["error": error, "more_since_last": suppressed, "held_by": holders.map(\.sentence)]
            )
        case .leaseLost(let worker):
            log.warning(
                "Other workers considered this worker dead and took over its jobs; it continues with another id.",
                ["worker": worker]
            )
        case .stale(let claim):
            log.warning("The outcome of a claim came too late to be recorded.", ["claim": claim])
        case .unrecorded(let app, let message, let error, let isWritten):
            log.error(
                isWritten
                    ? "PostgreSQL refused to record all of a message's outcome; 'carillon message show \(message)' shows "
                        + "what could be recorded."
                    : "PostgreSQL refused to record anything of a message's outcome.",
                ["app": app, "message": message, "error": error]
            )
        case .cannotEnd(let app, let message, let error):
            log.error(
                "PostgreSQL refuses to end a message whose pushes were sent. It stays in flight and is tried again.",
                [
                    "app": app, "message": message, "error": error,
                    "remedy":
                        "While this worker runs, remove the trigger or constraint that was added to "
                        + "carillon.inflight or carillon.unfinished, or grant the rights that were revoked "
                        + "('carillon check' lists them).",
                ]
            )
        case .tookOver(let workers, claims: 0, jobs: _):
            log.info("Took over the jobs of workers that died; they held none.", ["workers": workers])
        case .tookOver(let workers, let claims, let jobs):
            log.warning(
                "Took over the jobs of workers that died.",
                ["workers": workers, "claims": claims, "jobs": jobs]
            )
        case .split(let app, let message, let parts):
            log.info(
                "A job had more tokens than may be in flight, and was split.",
                ["app_id": app, "message": message, "parts": parts]
            )
        case .credentialExpires(let name, let days) where days < 0:
            log.error("A certificate has expired: import a newer one.", ["credential": name])
        case .credentialExpires(let name, let days):
            log.warning("A certificate expires soon: import a newer one.", ["credential": name, "days_left": days])
        case .tokenMinted(let key):
            log.info("Minted the provider token that the fleet uses from now on.", ["key": key])
        case .held(_, let name, let hold, let wait):
            log.error(
                hold.message,
                ["app": name, "kind": "\(hold.kind)", "next_try_in": DurationText.write(wait)]
            )
        case .holdEnded(_, let name):
            log.info("The app can send again.", ["app": name])
        case .retrying(_, let name, let cause, let pushes):
            log.warning(
                "Pushes will be retried.",
                ["app": name, "status": cause.status, "reason": cause.reason, "pushes": pushes]
            )
        case .topicRefused(_, let name, let topic, let status, let reason, let pushes, let sent):
            log.warning(
                sent == 0
                    ? "Pushes fail for good because of their topic, and none was sent meanwhile."
                    : "Pushes fail for good because of their topic.",
                [
                    "app": name, "topic": topic, "status": status, "reason": reason, "pushes": pushes, "sent": sent,
                    "remedy": FailureRemedy.sentence(for: reason, of: name),
                ]
            )
        case .maintained:
            log.debug("Maintenance has succeeded.")
        case .maintenanceFailed(let step, let error, holders: []):
            log.warning("A maintenance step failed and will be tried again.", ["step": step, "error": error])
        case .maintenanceFailed(let step, let error, let holders):
            log.warning(
                "A maintenance step failed on a lock that another session holds, and will be tried again.",
                ["step": step, "error": error, "held_by": holders.map(\.sentence)]
            )
        case .feedbackRead(let report):
            FeedbackLog(log: log).tell(report)
        case .reaped(let tally, let duration):
            FeedbackLog(log: log).tell(tally, in: duration)
        case .breakerOpened(_, let name, let reason):
            log.error(
                "An app was paused: most of its pushes fail, probably because of its settings.",
                ["app": name, "reason": reason]
            )
        case .channelMade(let app, let reference, let channel):
            log.info("Apple has made a channel.", ["app_id": app, "reference": reference, "channel": channel])
        case .channelMadeTooLate(let app, let reference, let channel):
            log.warning(
                "Apple created a channel after another worker had taken over the request; it will be removed.",
                ["app_id": app, "reference": reference, "channel": channel]
            )
        case .channelsNotCompared(let app, let error):
            log.warning(
                "The channels of an app could not be compared with Apple's list; the next attempt is in a day.",
                ["app_id": app, "error": error]
            )
        case .channelFailed(let app, let reference, let error, let isFinal):
            log.warning(
                isFinal
                    ? "A channel cannot be created: fix the cause and request it again."
                    : "A request about a channel failed and will be repeated.",
                ["app_id": app, "reference": reference, "error": error]
            )
        case .channelsCompared(let app, let unknown, let missing, let removed):
            log.warning(
                "The channels of an app differ from Apple's list; 'carillon channel sync' lists them.",
                ["app": app, "unknown": unknown, "missing": missing, "removed": removed]
            )
        case .draining:
            log.info("Stopping: waiting for the answers to what was sent.")
        case .gaveUp:
            log.warning("Stopping at once: other workers can claim what is unsent.")
        case .ended:
            log.info("The worker has ended.")
        }
    }
}
