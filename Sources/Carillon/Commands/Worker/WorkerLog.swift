import PushQueue

/// Logs the events of a worker.
struct WorkerLog: Sendable {
    let log: Log

    func tell(_ event: WorkerEvent) {
        switch event {
        case .started(let worker):
            log.info("The worker has started.", ["worker": .int(worker), "version": .string(Program.version)])
        case .databaseLost(let reason):
            log.warning(
                "The database is lost; what was sent will be settled when it is back.",
                ["reason": .string(reason)]
            )
        case .databaseAway(let error, suppressed: 0):
            log.warning("The database cannot be reached, and is tried again.", ["error": .string(error)])
        case .databaseAway(let error, let suppressed):
            log.warning(
                "The database still cannot be reached, and is tried again.",
                ["error": .string(error), "more_since_last": .int(Int64(suppressed))]
            )
        case .databaseBack:
            log.info("The database is back.")
        case .databaseError(let error, suppressed: 0):
            log.warning("A statement failed and will be tried again.", ["error": .string(error)])
        case .databaseError(let error, let suppressed):
            log.warning(
                "Statements keep failing and will be tried again.",
                ["error": .string(error), "more_since_last": .int(Int64(suppressed))]
            )
        case .lockMet(let error, let suppressed, let holders):
            log.warning(
                "A statement met a lock that somebody else holds, and will be tried again.",
                [
                    "error": .string(error), "more_since_last": .int(Int64(suppressed)),
                    "held_by": .array(holders.map { .string($0.sentence) }),
                ]
            )
        case .leaseLost(let worker):
            log.warning(
                "Others took this worker for dead and took over its jobs; it goes on under another number.",
                ["worker": .int(worker)]
            )
        case .stale(let claim):
            log.warning("The outcome of a claim came too late to be written.", ["claim": .int(claim)])
        case .unrecorded(let app, let message, let error, let isWritten):
            log.error(
                isWritten
                    ? "PostgreSQL refused to record all of a message's outcome; 'carillon message show \(message)' shows "
                        + "what could be recorded."
                    : "PostgreSQL refused to record anything of a message's outcome.",
                ["app": .string(app), "message": .int(message), "error": .string(error)]
            )
        case .cannotEnd(let app, let message, let error):
            log.error(
                "PostgreSQL refuses to end a message whose pushes were sent. It stays in flight and is tried again.",
                [
                    "app": .string(app), "message": .int(message), "error": .string(error),
                    "remedy": .string(
                        "Remove the trigger or constraint that somebody added to carillon.inflight or carillon.unfinished, or "
                            + "grant again what was revoked ('carillon check' lists that), while this worker runs."
                    ),
                ]
            )
        case .tookOver(let workers, claims: 0, jobs: _):
            log.info("Took over the jobs of workers that died; they held none.", ["workers": .int(Int64(workers))])
        case .tookOver(let workers, let claims, let jobs):
            log.warning(
                "Took over the jobs of workers that died.",
                ["workers": .int(Int64(workers)), "claims": .int(Int64(claims)), "jobs": .int(Int64(jobs))]
            )
        case .split(let app, let message, let parts):
            log.info(
                "A message had more tokens than may be in flight, and was cut into parts.",
                ["app_id": .int(Int64(app)), "message": .int(message), "parts": .int(Int64(parts))]
            )
        case .credentialExpires(let name, let days) where days < 0:
            log.error("A certificate has expired: import a newer one.", ["credential": .string(name)])
        case .credentialExpires(let name, let days):
            log.warning(
                "A certificate expires soon: import a newer one.",
                ["credential": .string(name), "days_left": .int(days)]
            )
        case .tokenMinted(let key):
            log.info("Minted the provider token that the fleet uses from now on.", ["key": .string(key)])
        case .trouble(_, let name, let trouble, let wait):
            log.error(
                trouble.message,
                [
                    "app": .string(name), "kind": .string("\(trouble.kind)"),
                    "next_try_in": .string(DurationText.write(wait)),
                ]
            )
        case .troubleOver(_, let name):
            log.info("The app can send again.", ["app": .string(name)])
        case .retrying(_, let name, let cause, let pushes):
            log.warning(
                "Pushes will be retried.",
                [
                    "app": .string(name), "status": cause.status.map { .int(Int64($0)) } ?? .null,
                    "reason": .string(cause.reason), "pushes": .int(Int64(pushes)),
                ]
            )
        case .topicRefused(_, let name, let topic, let status, let reason, let pushes, let sent):
            log.warning(
                sent == 0
                    ? "Pushes fail for good because of their topic, and none was sent meanwhile."
                    : "Pushes fail for good because of their topic.",
                [
                    "app": .string(name), "topic": JSONValue(topic), "status": .int(Int64(status)),
                    "reason": .string(reason), "pushes": .int(Int64(pushes)), "sent": .int(Int64(sent)),
                    "remedy": JSONValue(FailureRemedy.sentence(for: reason, of: name)),
                ]
            )
        case .maintained:
            log.debug("Maintenance has succeeded.")
        case .maintenanceFailed(let step, let error, holders: []):
            log.warning(
                "A step of maintenance failed and will be tried again.",
                ["step": .string(step), "error": .string(error)]
            )
        case .maintenanceFailed(let step, let error, let holders):
            log.warning(
                "A step of maintenance failed, for it met a lock that somebody else holds, and will be tried again.",
                [
                    "step": .string(step), "error": .string(error),
                    "held_by": .array(holders.map { .string($0.sentence) }),
                ]
            )
        case .feedbackRead(let report):
            FeedbackLog(log: log).tell(report)
        case .reaped(let tally, let duration):
            FeedbackLog(log: log).tell(tally, in: duration)
        case .breakerOpened(_, let name, let reason):
            log.error(
                "An app was paused: most of its pushes fail as BadDeviceToken.",
                ["app": .string(name), "reason": .string(reason)]
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
