import IO

/// What goes wrong in a run, and how often.
struct SimulationFaults {
    var habits = ModelGateway.Habits()
    /// Out of a thousand statements.
    var refusedStatements = 0
    /// How many of each happen.
    var crashes = 0
    var stops = 0
    var losses = 0
    var databaseCrashes = 0
    var clockJumps = 0
    var drains = 0
    var outages = 0
    var pauses = 0
    var cancels = 0
    /// Out of a hundred messages, those of which a constraint of the user's refuses some failures.
    var unwritable = 0

    static let none = Self()

    /// Some runs are quiet, some are wild.
    init(using generator: inout SeededGenerator) {
        func some(_ most: Int, using generator: inout SeededGenerator) -> Int {
            generator.chance(1, outOf: 2) ? 0 : generator.number(in: 0...most)
        }
        self.habits.dead = some(20, using: &generator)
        self.habits.busy = some(30, using: &generator)
        self.habits.refused = some(20, using: &generator)
        self.habits.silent = some(20, using: &generator)
        self.refusedStatements = some(50, using: &generator)
        self.crashes = some(3, using: &generator)
        self.stops = some(3, using: &generator)
        self.losses = some(6, using: &generator)
        self.databaseCrashes = some(3, using: &generator)
        self.clockJumps = some(2, using: &generator)
        self.drains = some(2, using: &generator)
        self.outages = some(1, using: &generator)
        self.pauses = some(1, using: &generator)
        self.cancels = some(5, using: &generator)
        self.unwritable = some(30, using: &generator)
        if generator.chance(1, outOf: 8) { self.habits.wrong = generator.number(in: 40...70) }
    }

    private init() {}
}
