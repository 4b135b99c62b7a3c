/// The figures of one benchmark, with everything needed to repeat it.
struct BenchmarkRun: Codable {
    let benchmark: String
    let command: String
    let machine: String
    let commit: String
    let figures: [Figure]
}
