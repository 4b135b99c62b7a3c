import ApplePush
import IO
import Postgres

/// What the statements of `WorkerStatements` are asked with, each named after its statement.
extension Parameters {
    /// - Parameter age: how long it has run, under other numbers.
    static func register(_ options: WorkerOptions, age: Duration) -> Parameters {
        var parameters = Parameters()
        parameters.append(options.name)
        parameters.append(options.host)
        parameters.append(options.processID)
        parameters.append(options.version)
        parameters.append(options.lease.inSeconds)
        parameters.append(age.inSeconds)
        return parameters
    }

    static func heartbeat(of worker: Int64, lease: Duration) -> Parameters {
        var parameters = Parameters()
        parameters.append(worker)
        parameters.append(lease.inSeconds)
        return parameters
    }

    static func endHolds(of worker: Int64) -> Parameters { signOff(of: worker) }

    static func signOff(of worker: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.append(worker)
        return parameters
    }

    static func hold(_ app: Int32, for trouble: Trouble, _ wait: Duration, by worker: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.append(app)
        parameters.append(trouble.kind.rawValue)
        parameters.append(trouble.message)
        parameters.append(wait.inSeconds)
        parameters.append(worker)
        return parameters
    }

    static func endHold(of app: Int32) -> Parameters {
        var parameters = Parameters()
        parameters.append(app)
        return parameters
    }

    static func heartbeats(butOf worker: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.append(worker)
        return parameters
    }

    /// - Parameter dead: nil: no worker, only what is left of those that are gone.
    static func takeOver(from dead: HeartbeatWatch.Sighting?) -> Parameters {
        var parameters = Parameters()
        parameters.append(dead?.worker ?? 0)
        parameters.append(dead?.beat)
        return parameters
    }

    static func release(_ claims: some Sequence<ClaimKey>, of worker: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.append(worker)
        parameters.append(PostgresArray(claims.lazy.map(\.id)))
        var times = PostgresArray(of: .timestamptz)
        for claim in claims { times.append(timestamp: claim.claimedAt) }
        parameters.append(times)
        return parameters
    }

    /// All claims of the worker but those.
    static func claims(of worker: Int64, butFor claims: some Sequence<Int64>) -> Parameters {
        var parameters = Parameters()
        parameters.append(worker)
        parameters.append(PostgresArray(claims))
        return parameters
    }

    static func restTokens(of certificate: Int32) -> Parameters {
        var parameters = Parameters()
        parameters.append(certificate)
        return parameters
    }

    static func judgeCredential(_ certificate: Int32, _ status: String?, error: String?) -> Parameters {
        var parameters = Parameters()
        parameters.append(certificate)
        parameters.append(status)
        parameters.append(error)
        return parameters
    }

    static func credential(_ finding: CredentialNotes.Finding) -> Parameters {
        var topics = PostgresArray(of: .text)
        var notAfter: Int64?
        var problem: String?
        switch finding.facts {
        case .success(let facts):
            for topic in facts.topics { topics.append(topic) }
            notAfter = facts.notAfter.map { $0 * 1_000_000 }
        case .failure(let trouble): problem = trouble.message
        }
        var parameters = Parameters()
        parameters.append(finding.certificate)
        parameters.append(timestamp: finding.since)
        parameters.append(timestamp: notAfter)
        parameters.append(topics)
        parameters.append(problem)
        return parameters
    }

    static func promote(most: Int32, after place: DueFloor.Place) -> Parameters {
        var parameters = Parameters()
        parameters.append(most)
        parameters.append(timestamp: place.time)
        parameters.append(place.id)
        return parameters
    }

    /// The walk begins before the first lane there could be. A run of paused apps is a lane behind all of theirs.
    static func look(above floors: [(lane: Lane, id: Int64)], over runs: [AppRun] = []) -> Parameters {
        let walked = runs.isEmpty ? floors : floors.filter { floor in !runs.contains { $0.contains(floor.lane.app) } }
        let ends = runs.map { (lane: Lane(app: $0.last, number: .max), id: Int64.max) }
        var parameters = Self.lookBelow([(Lane(app: .min, number: .min), .max)] + walked + ends)
        var firsts = PostgresArray(of: .int4)
        for _ in 0...walked.count { firsts.appendNull() }
        for run in runs { firsts.append(run.first) }
        parameters.append(firsts)
        return parameters
    }

    static func lookBelow(_ floors: [(lane: Lane, id: Int64)]) -> Parameters {
        var apps = PostgresArray(of: .int4)
        var numbers = PostgresArray(of: .int2)
        var ids = PostgresArray(of: .int8)
        for floor in floors {
            apps.append(floor.lane.app)
            numbers.append(floor.lane.number)
            ids.append(floor.id)
        }
        var parameters = Parameters()
        parameters.append(apps)
        parameters.append(numbers)
        parameters.append(ids)
        return parameters
    }

    static func takeTurn(of app: Int32, pushes: Int) -> Parameters {
        var parameters = Parameters()
        parameters.append(app)
        parameters.append(Int32(clamping: pushes))
        return parameters
    }

    static func discard(_ message: Int64, of lane: Lane) -> Parameters {
        var parameters = Parameters()
        parameters.append(lane.app)
        parameters.append(lane.number)
        parameters.append(message)
        return parameters
    }

    static func split(_ message: Int64, of lane: Lane, size: Int) -> Parameters {
        var parameters = Parameters()
        parameters.append(lane.app)
        parameters.append(lane.number)
        parameters.append(message)
        parameters.append(Int32(size))
        return parameters
    }
}

extension Duration {
    var inSeconds: Double { Double(nanoseconds) / 1e9 }
}
