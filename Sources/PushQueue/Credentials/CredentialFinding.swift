import ApplePush

/// What was read in a credential that nobody had looked at since it was written.
struct CredentialFinding: Sendable {
    let certificate: Int32
    /// When it was written.
    let since: Int64
    /// What it says of itself, or why it cannot be used.
    let facts: Result<Credential.Facts, Trouble>
}
