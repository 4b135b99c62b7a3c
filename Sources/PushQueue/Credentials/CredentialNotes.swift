/// What is to be written of credentials and apps and has not been yet: what each credential says of itself, how it fares,
/// and why apps are held. Of each the latest counts.
struct CredentialNotes: Sendable {
    /// Why an app is held, and for how long; or that it can send again.
    struct Hold: Sendable {
        let app: Int32
        let reason: (trouble: Trouble, wait: Duration)?
    }

    private var holds: [Int32: Hold] = [:]
    private var findings: [Int32: CredentialFinding] = [:]
    private var judgements: [Int32: Report.Judgement] = [:]

    var isEmpty: Bool { findings.isEmpty && judgements.isEmpty && holds.isEmpty }

    mutating func add(_ hold: Hold) { holds[hold.app] = hold }

    mutating func add(_ finding: CredentialFinding) { findings[finding.certificate] = finding }

    mutating func add(_ judgement: Report.Judgement) {
        judgements[judgement.certificate] = judgement.after(judgements[judgement.certificate])
    }

    /// All that there are, to be written in this order.
    mutating func take() -> (findings: [CredentialFinding], judgements: [Report.Judgement], holds: [Hold]) {
        defer { self = Self() }
        return (
            findings.values.sorted { $0.certificate < $1.certificate },
            judgements.values.sorted { $0.certificate < $1.certificate },
            holds.values.sorted { $0.app < $1.app }
        )
    }

    /// It could not be written, and is to be tried again unless there is a later one.
    mutating func keep(_ finding: CredentialFinding) {
        if findings[finding.certificate] == nil { findings[finding.certificate] = finding }
    }

    mutating func keep(_ hold: Hold) {
        if holds[hold.app] == nil { holds[hold.app] = hold }
    }

    mutating func keep(_ judgement: Report.Judgement) {
        let later = judgements[judgement.certificate]
        judgements[judgement.certificate] = later?.after(judgement) ?? judgement
    }
}

extension Report.Judgement {
    /// This one, where an earlier one was not written.
    fileprivate func after(_ earlier: Self?) -> Self {
        Self(
            certificate: certificate,
            status: status ?? earlier?.status,
            error: error,
            restsTokens: restsTokens || earlier?.restsTokens == true
        )
    }
}
