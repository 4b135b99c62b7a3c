import ApplePush
import Testing

@testable import PushQueue

@Suite struct CredentialNotesTests {
    private func judgement(_ certificate: Int32, _ status: String?, _ error: String?, rests: Bool = false)
        -> Report.Judgement
    {
        Report.Judgement(certificate: certificate, status: status, error: error, restsTokens: rests)
    }

    @Test func `of one credential the latest counts, and says what an earlier one that was not written said`() {
        var notes = CredentialNotes()
        notes.add(judgement(1, "rejected", "no", rests: true))
        notes.add(judgement(2, "ok", nil))
        notes.add(judgement(1, nil, "unreachable"))
        let written = notes.take().judgements
        #expect(written.map(\.certificate) == [1, 2])
        #expect(written[0].status == "rejected" && written[0].error == "unreachable" && written[0].restsTokens)
        #expect(notes.isEmpty)
    }

    @Test func `what could not be written is kept, unless there is a later one`() {
        var notes = CredentialNotes()
        notes.keep(judgement(1, "rejected", "no"))
        notes.add(judgement(2, "ok", nil))
        notes.keep(judgement(2, "rejected", "no"))
        let written = notes.take().judgements
        #expect(written.map(\.status) == ["rejected", "ok"])
        #expect(written.map(\.error) == ["no", nil])
        let facts = Swift::Result<Credential.Facts, Trouble>.failure(Trouble(.credential, "no"))
        notes.add(CredentialFinding(certificate: 1, since: 2, facts: facts))
        notes.keep(CredentialFinding(certificate: 1, since: 1, facts: facts))
        let findings = notes.take().findings
        #expect(findings.map(\.since) == [2])
    }
}
