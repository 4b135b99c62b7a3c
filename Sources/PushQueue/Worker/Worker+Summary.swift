extension Worker {
    package struct Summary: Sendable {
        package let counters: WorkerCounters
        /// All claims are settled, and the worker's row is gone.
        package let isClean: Bool
        /// Apps that could not send. Their messages wait.
        package let holds: [(app: Int32, name: String, hold: Hold)]
    }
}
