import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// A claim built by hand.
struct ClaimBuilder {
    var reader: ClaimReader
    private var id: Int64 = 0

    init(claimedAt: Int64 = 1_000_000_000_000) {
        let claim = ClaimedJobs(id: 9, app: 1, lane: 1, claimedAt: claimedAt, areQuarantined: false)
        reader = ClaimReader(claim, installation: (1, 2))
    }

    var jobs: ClaimedJobs { reader.claim }

    mutating func add(
        tokens: [String],
        payload: String? = #"{"aps":{}}"#,
        payloads: [String?] = [],
        origin: Int64? = nil,
        expiresAt: Int64? = nil,
        attempt: Int16 = 1,
        mayRepeat: Bool = true,
        topic: String = "org.example.app",
        collapseID: String = "",
        reference: String? = nil,
        priority: Int16? = nil,
        appIsKnown: Bool = true
    ) {
        id += 1
        var storedReference: ByteRange?
        if let reference {
            let reference = Array(reference.utf8)
            storedReference = reader.store(reference.span.bytes)
        }
        let job = ClaimedJobs.Job(
            id: id,
            origin: origin,
            broadcast: nil,
            reference: storedReference,
            createdAt: 0,
            expiresAt: expiresAt,
            attempt: attempt,
            mayRepeat: mayRepeat
        )
        let topic = Array(topic.utf8)
        let collapseID = Array(collapseID.utf8)
        reader.begin(
            job,
            topic: topic.span.bytes,
            topicIsAllowed: true,
            collapseID: collapseID.span.bytes,
            priority: priority,
            pushType: .alert,
            onUnknown: mayRepeat ? nil : "fail",
            appIsKnown: appIsKnown
        )
        if !payloads.isEmpty {
            if payloads.count != tokens.count { reader.refuseMismatch() }
            for payload in payloads where payloads.count == tokens.count {
                let bytes = payload.map { Array($0.utf8) }
                if let bytes { reader.add(nextPayload: bytes.span.bytes) } else { reader.add(nextPayload: nil) }
            }
        } else if let payload {
            let bytes = Array(payload.utf8)
            reader.add(payload: bytes.span.bytes)
        } else {
            reader.add(payload: nil)
        }
        for token in tokens {
            let token = Array(token.utf8)
            reader.add(token.span.bytes)
        }
    }
}
