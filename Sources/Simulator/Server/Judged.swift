/// What was made of a request. What only some tests ask for is large, and lies beside.
struct Judged {
    let verdict: Verdict
    let answer: Answer
    /// An answer to HEAD has no body.
    var isHead = false
}
