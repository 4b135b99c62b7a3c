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

    var isEmpty: Bool { self.findings.isEmpty && self.judgements.isEmpty && self.holds.isEmpty }

    mutating func add(_ hold: Hold) { self.holds[hold.app] = hold }

    mutating func add(_ finding: CredentialFinding) { self.findings[finding.certificate] = finding }

    mutating func add(_ judgement: Report.Judgement) {
        self.judgements[judgement.certificate] = judgement.after(self.judgements[judgement.certificate])
    }

    /// All that there are, to be written in this order.
    mutating func take() -> (findings: [CredentialFinding], judgements: [Report.Judgement], holds: [Hold]) {
        defer { self = Self() }
        return (
            self.findings.values.sorted { $0.certificate < $1.certificate },
            self.judgements.values.sorted { $0.certificate < $1.certificate },
            self.holds.values.sorted { $0.app < $1.app }
        )
    }

    /// It could not be written, and is to be tried again unless there is a later one.
    mutating func keep(_ finding: CredentialFinding) {
        if self.findings[finding.certificate] == nil { self.findings[finding.certificate] = finding }
    }

    mutating func keep(_ hold: Hold) {
        if self.holds[hold.app] == nil { self.holds[hold.app] = hold }
    }

    mutating func keep(_ judgement: Report.Judgement) {
        let later = self.judgements[judgement.certificate]
        self.judgements[judgement.certificate] = later?.after(judgement) ?? judgement
    }
}

extension Report.Judgement {
    /// This one, where an earlier one was not written.
    fileprivate func after(_ earlier: Self?) -> Self {
        Self(
            certificate: self.certificate,
            status: self.status ?? earlier?.status,
            error: self.error,
            restsTokens: self.restsTokens || earlier?.restsTokens == true
        )
    }
}
