import Testing

@testable import Postgres

@Suite struct `The pipeline` {
    @Test func `statements are sent in order, up to the limit`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for job in 1...3 { pipeline.enqueue(.statement, job) }
        #expect(pipeline.depart() == 1)
        #expect(pipeline.depart() == 2)
        #expect(pipeline.depart() == nil)
        #expect(pipeline.current == 1)
        #expect(pipeline.landed() == 1)
        #expect(pipeline.depart() == 3)
        #expect(pipeline.current == 2)
        #expect(pipeline.last == 3)
    }

    @Test func `after the limit is lowered, statements in flight are answered first`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for job in 1...4 { pipeline.enqueue(.statement, job) }
        #expect(pipeline.depart() == 1)
        #expect(pipeline.depart() == 2)
        pipeline.limit = 1
        #expect(pipeline.landed() == 1)
        #expect(pipeline.depart() == nil)
        #expect(pipeline.landed() == 2)
        #expect(pipeline.depart() == 3)
        #expect(pipeline.depart() == nil)
    }

    @Test func `a script has the session to itself`() {
        var pipeline = Pipeline<String>(limit: 10)
        pipeline.enqueue(.statement, "before")
        pipeline.enqueue(.script, "script")
        pipeline.enqueue(.statement, "after")
        #expect(pipeline.depart() == "before")
        #expect(pipeline.depart() == nil)
        #expect(pipeline.landed() == "before")
        #expect(pipeline.depart() == "script")
        #expect(pipeline.isRunningScript)
        #expect(pipeline.depart() == nil)
        #expect(pipeline.landed() == "script")
        #expect(!pipeline.isRunningScript)
        #expect(pipeline.depart() == "after")
    }

    @Test func `at the end, statements that were sent are listed apart from those that were not`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for job in 1...5 { pipeline.enqueue(.statement, job) }
        _ = pipeline.depart()
        _ = pipeline.depart()
        let (sent, unsent) = pipeline.takeAll()
        #expect(sent == [1, 2])
        #expect(unsent == [3, 4, 5])
        #expect(pipeline.depart() == nil)
    }
}
