import Testing

@testable import CarillonPostgres

@Suite struct PipelineTests {
    @Test func `statements are sent in order, up to the limit`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for request in 1...3 { pipeline.enqueue(.statement, request) }
        #expect(pipeline.nextToSend() == 1)
        #expect(pipeline.nextToSend() == 2)
        #expect(pipeline.nextToSend() == nil)
        #expect(pipeline.current == 1)
        #expect(pipeline.completed() == 1)
        #expect(pipeline.nextToSend() == 3)
        #expect(pipeline.current == 2)
        #expect(pipeline.last == 3)
    }

    @Test func `after the limit is lowered, statements in flight are answered first`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for request in 1...4 { pipeline.enqueue(.statement, request) }
        #expect(pipeline.nextToSend() == 1)
        #expect(pipeline.nextToSend() == 2)
        pipeline.limit = 1
        #expect(pipeline.completed() == 1)
        #expect(pipeline.nextToSend() == nil)
        #expect(pipeline.completed() == 2)
        #expect(pipeline.nextToSend() == 3)
        #expect(pipeline.nextToSend() == nil)
    }

    @Test func `a script has the session to itself`() {
        var pipeline = Pipeline<String>(limit: 10)
        pipeline.enqueue(.statement, "before")
        pipeline.enqueue(.script, "script")
        pipeline.enqueue(.statement, "after")
        #expect(pipeline.nextToSend() == "before")
        #expect(pipeline.nextToSend() == nil)
        #expect(pipeline.completed() == "before")
        #expect(pipeline.nextToSend() == "script")
        #expect(pipeline.isRunningScript)
        #expect(pipeline.nextToSend() == nil)
        #expect(pipeline.completed() == "script")
        #expect(!pipeline.isRunningScript)
        #expect(pipeline.nextToSend() == "after")
    }

    @Test func `at the end, statements that were sent are listed apart from those that were not`() {
        var pipeline = Pipeline<Int>(limit: 2)
        for request in 1...5 { pipeline.enqueue(.statement, request) }
        _ = pipeline.nextToSend()
        _ = pipeline.nextToSend()
        let (sent, unsent) = pipeline.takeAll()
        #expect(sent == [1, 2])
        #expect(unsent == [3, 4, 5])
        #expect(pipeline.nextToSend() == nil)
    }
}
