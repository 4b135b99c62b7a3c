import CarillonIO

/// The faults of a run, and how often they occur.
struct SimulationFaults {
    var habits = ModelGateway.Habits()
    /// How many out of a thousand statements.
    var refusedStatements = 0
    /// How many of each occur in the run.
    var crashes = 0
    var stops = 0
    var losses = 0
    var databaseCrashes = 0
    var clockJumps = 0
    var drains = 0
    var outages = 0
    var pauses = 0
    var cancels = 0
    /// For how many out of a hundred messages a user's constraint refuses failures.
    var unwritable = 0

    static let none = Self()

    /// Each kind of fault is missing in half of the runs.
    init(using generator: inout SeededGenerator) {
        func some(_ max: Int, using generator: inout SeededGenerator) -> Int {
            generator.chance(1, outOf: 2) ? 0 : generator.number(in: 0...max)
        }
        habits.dead = some(20, using: &generator)
        habits.busy = some(30, using: &generator)
        habits.refused = some(20, using: &generator)
        habits.silent = some(20, using: &generator)
        refusedStatements = some(50, using: &generator)
        crashes = some(3, using: &generator)
        stops = some(3, using: &generator)
        losses = some(6, using: &generator)
        databaseCrashes = some(3, using: &generator)
        clockJumps = some(2, using: &generator)
        drains = some(2, using: &generator)
        outages = some(1, using: &generator)
        pauses = some(1, using: &generator)
        cancels = some(5, using: &generator)
        unwritable = some(30, using: &generator)
        if generator.chance(1, outOf: 8) { habits.wrong = generator.number(in: 40...70) }
    }

    private init() {}
}
