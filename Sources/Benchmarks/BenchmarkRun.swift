/// What one benchmark has measured, with all that is needed to measure it again.
struct BenchmarkRun: Codable {
    let benchmark: String
    let command: String
    let machine: String
    let commit: String
    let figures: [Figure]
}
