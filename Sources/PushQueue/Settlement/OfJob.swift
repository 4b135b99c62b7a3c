/// What a settlement says of a job, or of one of its pushes.
protocol OfJob {
    /// The place of the job in the claim.
    var job: Int32 { get }
}

extension JobTally: OfJob {}
extension FailedPush: OfJob {}
extension Settlement.GoingBack: OfJob {}
extension Settlement.Stay: OfJob {}
extension Settlement.Identified: OfJob {}
