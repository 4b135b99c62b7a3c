import ApplePush

/// A row of the queue, with the columns on which the behaviour of workers depends.
struct ModelJob: Hashable {
    var id: Int64
    var app: Int32 = 1
    var lane: Int16 = 1
    var tokens: [String]
    /// In microseconds since 1970, like all times of the model.
    var expiresAt: Int64?
    var mayRepeat = true
    var attempt: Int16 = 1
    /// How many workers died while it was in flight.
    var lostClaims: Int16 = 0
    /// How many attempts had an unknown outcome.
    var unknownAttempts: Int16 = 0
    var origin: Int64?
    /// It updates Live Activities.
    var isUpdate = false
    /// Its pushes are background pushes.
    var isPaced = false
    /// Its payload names the token.
    var isPersonal = false
    /// It ends the Live Activities.
    var isEnd = false

    var message: Int64 { origin ?? id }
    /// Whether an attempt with an unknown outcome may be repeated, as a claim tells the worker.
    var mayRepeatOnceMore: Bool { mayRepeat && unknownAttempts < 3 }
    /// Three workers died while it was in flight.
    var isQuarantined: Bool { lostClaims >= 3 }
    /// Jobs are claimed only with others of the same value.
    var quarantine: Int16 { isQuarantined ? lostClaims : 0 }

    /// How many quarantined pushes may be in flight together.
    static func quarantineSize(_ lostClaims: Int16) -> Int { max(1, 1000 >> (min(Int(lostClaims), 12) - 2)) }

    /// Another worker has died while it was in flight, together with that many quarantined pushes.
    mutating func countDeath(together: Int) {
        let next = lostClaims + 1
        if lostClaims < 2 {
            lostClaims = next
        } else if lostClaims > 2, together == 1 {
            lostClaims = max(next, 12)
        } else {
            lostClaims = max(next, (3...11).first { Self.quarantineSize($0) <= max(1, together / 2) } ?? 11)
        }
    }
}

/// A row of `updates`.
struct ModelUpdate: Hashable {
    var place: ModelPlace
    var expiresAt: Int64?
}

/// The place of an update in the order of its token.
struct ModelPlace: Hashable, Comparable {
    var isEnd = false
    var dueAt: Int64
    var message: Int64

    static func < (one: Self, other: Self) -> Bool {
        one.isEnd != other.isEnd ? other.isEnd : (one.dueAt, one.message) < (other.dueAt, other.message)
    }
}

/// A row of `update_stamps`.
struct ModelStamp: Hashable {
    /// The place of the update that was sent last. An end is final.
    var place: ModelPlace
    var highest: Int64
    var stamp: Int64
}

/// An element of a row of `device_slots`.
struct ModelSlot: Hashable {
    var at: Int64
    var message: Int64
    /// Whether the payload names the token. Payloads differ in nothing else.
    var isPersonal: Bool
}

/// A row of `inflight`.
struct ModelClaim: Hashable {
    let id: Int64
    let worker: Int64
    let app: Int32
    /// The jobs that are not settled.
    var jobs: [ModelJob]
    let claimedAt: Int64
    /// Its jobs are quarantined.
    let isQuarantined: Bool
    /// How many settlements it has had.
    var settlementNumber: Int16 = 0
}

/// A row of `unfinished` or, once nothing remains, of `results`.
struct ModelProgress: Hashable {
    let message: Int64
    let app: Int32
    var remaining = 0
    var sent = 0
    var failed = 0
    var expired = 0
    var cancelled = 0
    var attempts: Int16 = 1
    /// By token.
    var uniqueIDs: [String: PushID] = [:]

    var ended: Int { sent + failed + expired + cancelled }
}

/// A row of `failures`.
struct ModelFailure: Hashable {
    let message: Int64
    let token: String
    let status: Int16?
    let reason: String
    let attempt: Int16
    var uniqueID: PushID?
}

/// The counts by which breakers open.
struct ModelActivity: Hashable {
    var pushes = 0
    var bad = 0

    var opensBreaker: Bool { pushes >= 100 && bad * 2 > pushes }
}

/// A row of `fleet_tasks`.
struct ModelFleetTask: Hashable {
    var nextRun: Int64 = .min / 2
    var every: Int64 = 1_000_000
    var heldBy: Int64?
}

/// A row of `feedback` that is not handled.
struct ModelFeedback: Hashable {
    let app: Int32
    let token: String
    let unregisteredAt: Int64
}

/// One push, however often it is sent.
struct ModelPush: Hashable {
    let message: Int64
    let token: String
}

/// A row of `workers`.
struct ModelWorker: Equatable {
    var beat: Int64 = 0
    /// In microseconds.
    var lease: Int64
    /// By the database's clock.
    var leaseUntil: Int64
    var isAsleep = false
}
