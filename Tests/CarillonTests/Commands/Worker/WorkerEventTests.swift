import ApplePush
import CarillonPostgres
import CarillonText
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Carillon
@testable import CarillonPushQueue

/// What each event of a worker is in the log: programs read these lines.
@Suite struct WorkerEventTests {
    /// The lines of the log, without their times.
    private func lines(_ format: Log.Format, of events: [WorkerEvent]) throws -> String {
        try TemporaryFolder.with { folder in
            let path = try folder.write("log", "")
            let file = open(path, O_WRONLY)
            defer { close(file) }
            let stream = TextStream(descriptor: file, environment: [:])
            let log = Log(stream: stream, format: format, threshold: .debug, redactor: Redactor())
            for event in events { log.write(event) }
            log.flush(within: .seconds(60))
            let text = try String(contentsOfFile: path, encoding: .utf8)
            return text.replacing(#/(?m)^(\d\d:\S+ |{"time":"[^"]+",)/#, with: "")
        }
    }

    private func cause(_ status: UInt16, _ reason: String?) -> RetryCause {
        var outcomes = Outcomes(repeating: Outcome(.unknown), count: 1)
        if let reason { outcomes[0] = Outcome(.rejected, status: status, reason: outcomes.reason(named: reason)) }
        return RetryCause(outcomes[0], of: outcomes)
    }

    private func refused(_ reason: String, sent: Int) -> TopicRefusalEvents.Item {
        let reason = Reason(name: reason) ?? .none
        return .init(refusal: .init(reason: reason, status: 400, first: 0), pushes: 5, sent: sent)
    }

    private func tally(deleted: Int, faults: [String] = [], _ state: ReapBatch.State = .over) -> ReapTally {
        var tally = ReapTally()
        tally.add(ReapBatch(state: state, next: nil, app: "shop", handled: 9, deleted: deleted, faults: faults))
        return tally
    }

    private let holders = [
        LockHolder(
            who: "process 7 (psql)",
            pid: 7,
            relations: "carillon.apps",
            locksTables: true,
            waitsBehind: nil,
            seconds: 4,
            waiting: 2
        )
    ]

    @Test func `every event has its level, its sentence and its fields`() throws {
        func log(_ timeline: Int32, _ flushed: Int64) -> WALPosition {
            WALPosition(cluster: 1, timeline: timeline, flushed: flushed)
        }
        var events: [WorkerEvent] = [
            .started(worker: 7, version: Program.version),
            .databaseLost("gone"),
            .databaseAway("no route", suppressed: 0), .databaseAway("no route", suppressed: 3),
            .databaseBack,
            .databaseError("disk full", suppressed: 0), .databaseError("disk full", suppressed: 2),
            .lockMet("timeout", suppressed: 1, holders: holders), .lockMet("timeout", suppressed: 0, holders: []),
            .leaseLost(worker: 8),
            .stale(claim: 5),
            .unrecorded(app: "shop", message: 9, error: "violates", isWritten: true),
            .unrecorded(app: "shop", message: 9, error: "violates", isWritten: false),
            .cannotEnd(app: "shop", message: 9, error: "violates"),
            .tookOver(workers: 1, claims: 0, jobs: 0), .tookOver(workers: 1, claims: 2, jobs: 30),
            .split(app: 1, message: 9, jobs: 3),
            .held(app: "shop", Hold(.tokenUpdates, "Too many."), for: .milliseconds(61_500)),
            .holdEnded(app: "shop"),
            .retrying(app: "shop", cause(429, "TooManyRequests"), pushes: 4),
            .retrying(app: "shop", cause(0, nil), pushes: 1),
            .topicRefused(app: "shop", topic: "a.b", refused("BadTopic", sent: 0)),
            .topicRefused(app: "shop", topic: nil, refused("TopicMismatch", sent: 2)),
            .tokenMinted("K of T"),
            .credentialExpires(name: "acme", days: 6), .credentialExpires(name: "acme", days: -1),
            .maintained,
            .maintenanceFailed(step: "partitions", error: "denied", holders: []),
            .maintenanceFailed(step: "partitions", error: "timeout", holders: holders),
            .feedbackRead(.init(app: "shop", gateway: "a:1", tokens: 2, failure: nil)),
            .feedbackRead(.init(app: "shop", gateway: nil, tokens: 2, failure: "cut")),
        ]
        events += WorkerEvent.feedbackPass(tally(deleted: 3, faults: ["no table"]), in: .milliseconds(1234))
        events += WorkerEvent.feedbackPass(tally(deleted: 0), in: .seconds(1))
        events += WorkerEvent.feedbackPass(tally(deleted: 1, .more), in: .seconds(1))
        events += [
            .breakerOpened(app: "shop", reason: "BadDeviceToken"),
            .channelMade(app: 1, reference: "r", channel: "c"),
            .channelMadeTooLate(app: 1, reference: "r", channel: "c"),
            .channelsNotCompared(app: 1, error: "refused"),
            .channelFailed(app: 1, reference: "r", error: "refused", isFinal: true),
            .channelFailed(app: 1, reference: "r", error: "refused", isFinal: false),
            .channelsCompared(app: "shop", unknown: 1, missing: 2, removed: 3),
            .draining, .gaveUp, .ended,
            .databaseWentBack(from: log(1, 0x16_B374_D848), to: log(1, 0x16_0300_0120)),
            .databaseWentBack(from: log(1, 1), to: log(2, 2)),
        ]
        expect(try lines(.json, of: events), Self.json.replacing("VERSION", with: Program.version))
        let odd = [7, 17, 22, 31, 32].map { events[$0] }
        expect(try lines(.text, of: odd), Self.text)
    }

    @Test func `no line has two fields of one name`() {
        for line in Self.json.split(separator: "\n") {
            let names = line.matches(of: #/[{,]?"([a-z_]+)":/#).map { String($0.output.1) }
            #expect(Set(names).count == names.count, "\(line)")
        }
    }

    @Test func `docs/operating.md names every event`() throws {
        let page = try GeneratedPage("docs/operating.md").text
        let table = try #require(page.split(separator: "| about | `event` |").last?.split(separator: "\n\n").first)
        let names = table.matches(of: #/`([a-z_]+)`/#).map { String($0.output.1) }
        #expect(names.sorted() == WorkerEvent.Kind.allCases.map(\.name).sorted())
    }

    private func expect(_ lines: String, _ expected: String) {
        #expect(lines == expected + "\n")
        for (line, expected) in zip(lines.split(separator: "\n"), expected.split(separator: "\n")) {
            #expect(line == expected)
        }
    }

    private static let json = #"""
        "level":"info","message":"The worker has started.","event":"started","worker":7,"version":"VERSION"}
        "level":"warning","message":"The connection to the database was lost; pushes that were sent will be settled when it is back.","event":"database_lost","reason":"gone"}
        "level":"warning","message":"The database cannot be reached; trying again.","event":"database_away","error":"no route"}
        "level":"warning","message":"The database still cannot be reached; trying again.","event":"database_away","error":"no route","more_since_last":3}
        "level":"info","message":"The database is back.","event":"database_back"}
        "level":"warning","message":"A statement failed and will be tried again.","event":"database_error","error":"disk full"}
        "level":"warning","message":"Statements keep failing and will be tried again.","event":"database_error","error":"disk full","more_since_last":2}
        "level":"warning","message":"A statement timed out on a lock that another session holds, and will be tried again.","event":"lock_met","error":"timeout","more_since_last":1,"locked_by":["process 7 (psql) has locked carillon.apps for 4s, and 2 sessions wait for it"]}
        "level":"warning","message":"A statement timed out on a lock that another session holds, and will be tried again.","event":"lock_met","error":"timeout","more_since_last":0,"locked_by":[]}
        "level":"warning","message":"Other workers considered this worker dead and took over its jobs; it continues with another id.","event":"lease_lost","worker":8}
        "level":"warning","message":"The outcome of a claim came too late to be recorded.","event":"stale","claim":5}
        "level":"error","message":"PostgreSQL refused part of a message's outcome; 'carillon message show 9' shows the rest.","event":"unrecorded","app":"shop","message_id":9,"error":"violates"}
        "level":"error","message":"PostgreSQL refused a message's outcome: nothing of it is recorded.","event":"unrecorded","app":"shop","message_id":9,"error":"violates"}
        "level":"error","message":"PostgreSQL refuses to end a message whose pushes were sent. It stays in flight and is tried again.","event":"cannot_end","app":"shop","message_id":9,"error":"violates","remedy":"While this worker runs, remove the trigger or constraint that was added to carillon.inflight or carillon.unfinished."}
        "level":"info","message":"Took over the jobs of workers that died; they had none.","event":"took_over","workers":1}
        "level":"warning","message":"Took over the jobs of workers that died.","event":"took_over","workers":1,"claims":2,"jobs":30}
        "level":"info","message":"A job had more tokens than one job may have, and was split.","event":"split","app_id":1,"message_id":9,"jobs":3}
        "level":"error","message":"Too many.","event":"held","app":"shop","kind":"token_updates","next_attempt_in":"1m1s500ms"}
        "level":"info","message":"The app can send again.","event":"hold_ended","app":"shop"}
        "level":"warning","message":"Pushes will be retried.","event":"retrying","app":"shop","status":429,"reason":"TooManyRequests","pushes":4}
        "level":"warning","message":"Pushes will be retried.","event":"retrying","app":"shop","status":null,"reason":"OutcomeUnknown","pushes":1}
        "level":"warning","message":"Pushes fail for good because of their topic, and none was sent meanwhile.","event":"topic_refused","app":"shop","topic":"a.b","status":400,"reason":"BadTopic","pushes":5,"sent":0,"remedy":"Set the right topic, 'carillon app set shop --topic TOPIC', or import a credential for it. Then send them again: 'carillon failures requeue --app shop --reason BadTopic'."}
        "level":"warning","message":"Pushes fail for good because of their topic.","event":"topic_refused","app":"shop","topic":null,"status":400,"reason":"TopicMismatch","pushes":5,"sent":2,"remedy":null}
        "level":"info","message":"Minted the provider token that the fleet uses from now on.","event":"token_minted","key":"K of T"}
        "level":"warning","message":"A certificate expires soon: import a newer one.","event":"credential_expires","credential":"acme","days_left":6}
        "level":"error","message":"A certificate has expired: import a newer one.","event":"credential_expires","credential":"acme"}
        "level":"debug","message":"Maintenance has succeeded.","event":"maintained"}
        "level":"warning","message":"A maintenance step failed and will be tried again.","event":"maintenance_failed","step":"partitions","error":"denied"}
        "level":"warning","message":"A maintenance step failed on a lock that another session holds, and will be tried again.","event":"maintenance_failed","step":"partitions","error":"timeout","locked_by":["process 7 (psql) has locked carillon.apps for 4s, and 2 sessions wait for it"]}
        "level":"info","message":"Read an app's list of dead tokens.","event":"feedback_read","app":"shop","gateway":"a:1","tokens":2}
        "level":"error","message":"An app's list of dead tokens could not be read to its end.","event":"feedback_read","app":"shop","gateway":null,"tokens":2,"error":"cut"}
        "level":"error","message":"Dead tokens could not be deleted from a watched table.","event":"not_reaped","error":"no table"}
        "level":"info","message":"Reaped dead tokens.","event":"reaped","reaped":3,"by_app":{"shop":3},"feedback":9,"seconds":1.234}
        "level":"debug","message":"A feedback pass found nothing to delete.","event":"reaped","reaped":0,"by_app":{},"feedback":9,"seconds":1.0}
        "level":"info","message":"A feedback pass was interrupted; another will continue it.","event":"reaped","reaped":1,"by_app":{"shop":1},"feedback":9,"seconds":1.0}
        "level":"error","message":"An app was paused: most of its pushes fail, probably because of its settings.","event":"breaker_opened","app":"shop","reason":"BadDeviceToken"}
        "level":"info","message":"Apple has created a channel.","event":"channel_made","app_id":1,"reference":"r","channel":"c"}
        "level":"warning","message":"Apple created a channel after another worker had taken over the request; it will be removed.","event":"channel_made_too_late","app_id":1,"reference":"r","channel":"c"}
        "level":"warning","message":"The channels of an app could not be compared with Apple's list; the next attempt is in a day.","event":"channels_not_compared","app_id":1,"error":"refused"}
        "level":"warning","message":"A channel cannot be created: fix the cause and request it again.","event":"channel_failed","app_id":1,"reference":"r","error":"refused"}
        "level":"warning","message":"A request about a channel failed and will be repeated.","event":"channel_failed","app_id":1,"reference":"r","error":"refused"}
        "level":"warning","message":"The channels of an app differ from Apple's list; 'carillon channel sync' lists them.","event":"channels_compared","app":"shop","unknown":1,"missing":2,"removed":3}
        "level":"info","message":"Stopping: waiting for the answers to what was sent.","event":"draining"}
        "level":"warning","message":"Stopping at once: other workers can claim the unsent jobs.","event":"gave_up"}
        "level":"info","message":"The worker has ended.","event":"ended"}
        "level":"error","message":"The database is in an older state than before: a backup was restored, or a standby was promoted that lacked the last changes. What was sent since that state may be sent again; docs/backup.md says what to do.","event":"database_went_back","timeline":1,"lsn":"16/3000120","earlier_timeline":1,"earlier_lsn":"16/B374D848"}
        "level":"warning","message":"The database is on another timeline: a backup was restored, or a standby was promoted. If it lacked the last changes, what was sent since may be sent again.","event":"database_went_back","timeline":2,"lsn":"0/2","earlier_timeline":1,"earlier_lsn":"0/1"}
        """#

    private static let text = #"""
        warning A statement timed out on a lock that another session holds, and will be tried again. error=timeout more_since_last=1 locked_by=["process 7 (psql) has locked carillon.apps for 4s, and 2 sessions wait for it"]
        error   Too many. app=shop kind=token_updates next_attempt_in=1m1s500ms
        warning Pushes fail for good because of their topic. app=shop topic=null status=400 reason=TopicMismatch pushes=5 sent=2 remedy=null
        error   Dead tokens could not be deleted from a watched table. error="no table"
        info    Reaped dead tokens. reaped=3 by_app={"shop":3} feedback=9 seconds=1.234
        """#
}
