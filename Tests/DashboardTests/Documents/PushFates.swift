import ApplePush

@testable import CarillonPushQueue

/// What may become of a push after an outcome. That depends on its attempt, its `on_unknown`, and whether another push of
/// the claim was accepted.
struct PushFates {
    /// It waits for another attempt, with the outcome as its `last_reason`.
    private(set) var waits = false
    private(set) var waitsWhileHeld = false
    private(set) var fails = false
    /// The app is held because of the push that fails.
    private(set) var failsWhileHeld = false

    init(after outcome: Outcome) {
        let (first, last): (Int16, Int16) = (1, 2)
        for attempt in [first, last] {
            for mayRepeat in [false, true] {
                for isOtherAccepted in [false, true] {
                    var outcomes = Outcomes(repeating: .accepted, count: isOtherAccepted ? 2 : 1)
                    outcomes[0] = outcome
                    let job = ClaimedJobs.Job(
                        id: 1,
                        origin: nil,
                        broadcast: nil,
                        reference: nil,
                        createdAt: 0,
                        expiresAt: nil,
                        attempt: attempt,
                        mayRepeat: mayRepeat
                    )
                    let sorted = SortedPushes(
                        CollectionOfOne<Int32>(0),
                        of: job,
                        outcomes,
                        credentialWorks: isOtherAccepted,
                        maxAttempts: last,
                        triesOtherEnvironment: false
                    )
                    add(sorted, isHeld: Hold(outcomes) != nil)
                }
            }
        }
    }

    private mutating func add(_ sorted: SortedPushes, isHeld: Bool) {
        if !sorted.retried.pushes.isEmpty || !sorted.returned.pushes.isEmpty {
            waits = true
            waitsWhileHeld = waitsWhileHeld || isHeld
        }
        if !sorted.failed.isEmpty {
            fails = true
            failsWhileHeld = failsWhileHeld || isHeld
        }
    }
}
