import CarillonIO
import Testing

/// Waits for a condition, for three minutes at most.
func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = MonotonicInstant.now + .seconds(180)
    while !condition(), .now < end { await Task.yield() }
    #expect(condition(), sourceLocation: sourceLocation)
}
