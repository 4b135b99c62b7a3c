/// What a new connection begins with.
struct DialTerms {
    /// How many pushes the gateway judges the credential by; nil: it has accepted it before.
    let trial: Int?
    let authorization: Authorization?
    /// After how many answers the connection before was lost, if that was early in its life.
    let expectancy: Int?
}
