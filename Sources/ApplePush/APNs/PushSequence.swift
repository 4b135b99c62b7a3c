extension APNs {
    /// The pushes of one message to tokens that are read during sending, in the order of the tokens.
    ///
    /// Tokens are read and sent in pieces, a few pieces at a time. The next piece is read when the caller has received all pushes
    /// of an earlier one, so memory does not grow with the number of tokens.
    ///
    /// Every token that was read has its push in the sequence, whatever happens. If nothing of a piece could be sent, no more
    /// tokens are read, and the sequence ends with the `PushError`. If the task is cancelled, it ends with a `CancellationError`;
    /// if reading a token fails, with that error. Leaving the loop cancels the pushes that have not been sent.
    public struct PushSequence<Tokens: AsyncSequence>: AsyncSequence where Tokens.Element == String {
        private let message: Message
        private let tokens: Tokens
        private let atOnce: Int
        private let apns: APNs

        init(of message: Message, to tokens: Tokens, atOnce: Int, through apns: APNs) {
            self.message = message
            self.tokens = tokens
            self.atOnce = atOnce
            self.apns = apns
        }

        /// Reading and sending begin when the first push is requested.
        public func makeAsyncIterator() -> Iterator {
            Iterator(of: message, to: tokens.makeAsyncIterator(), atOnce: atOnce, through: apns)
        }

        /// Sends, and returns the pushes one by one.
        public struct Iterator: AsyncIteratorProtocol {
            private static var piece: Int { 1000 }

            private let message: Message
            private var tokens: Tokens.AsyncIterator
            private let atOnce: Int
            private let apns: APNs
            private let sending = SendingPieces()
            private var current: ArraySlice<Push> = []
            private var isReading = true
            /// The error that ends the sequence, after all pushes.
            private var failure: (any Error)?

            init(of message: Message, to tokens: Tokens.AsyncIterator, atOnce: Int, through apns: APNs) {
                self.message = message
                self.tokens = tokens
                self.atOnce = Swift.max(1, atOnce)
                self.apns = apns
            }

            /// The next push, or nil after the last.
            public mutating func next() async throws -> Push? {
                while true {
                    if let push = current.popFirst() { return push }
                    while isReading, sending.tokens < atOnce { await sendPiece() }
                    guard let piece = await sending.next() else {
                        if let failure = failure.take() { throw failure }
                        return nil
                    }
                    current = piece.pushes[...]
                    if let failure = piece.failure { stop(failure) }
                }
            }

            private mutating func sendPiece() async {
                var piece = message
                piece.tokens = []
                do {
                    while piece.tokens.count < Swift.min(Self.piece, atOnce - sending.tokens) {
                        try Task.checkCancellation()
                        guard let token = try await tokens.next(isolation: #isolation) else {
                            isReading = false
                            break
                        }
                        piece.tokens.append(token)
                    }
                } catch {
                    stop(error)
                }
                if !piece.tokens.isEmpty { sending.add(piece, through: apns) }
            }

            /// Stops reading tokens. The first failure ends the sequence.
            private mutating func stop(_ failure: any Error) {
                isReading = false
                if self.failure == nil { self.failure = failure }
            }
        }
    }

    /// Tokens of a plain sequence.
    public struct TokensAtHand<Tokens: Sequence>: AsyncSequence where Tokens.Element == String {
        private let tokens: Tokens

        init(_ tokens: Tokens) { self.tokens = tokens }

        /// Starts at the first token.
        public func makeAsyncIterator() -> Iterator { Iterator(tokens: tokens.makeIterator()) }

        /// Returns the tokens one by one.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var tokens: Tokens.Iterator

            /// The next token, or nil after the last.
            public mutating func next() async -> String? { tokens.next() }
        }
    }
}

/// The pieces of a push sequence that are being sent, oldest first. They are cancelled when the sequence is dropped.
private final class SendingPieces {
    struct Ended: Sendable {
        let pushes: [APNs.Push]
        /// Why nothing was sent.
        var failure: (any Error)?
    }

    private var pieces: [(task: Task<Ended, Never>, tokens: Int)] = []
    /// How many tokens they contain.
    private(set) var tokens = 0

    deinit { for piece in pieces { piece.task.cancel() } }

    func add(_ message: APNs.Message, through apns: APNs) {
        tokens += message.tokens.count
        let task = Task { await send(message, through: apns) }
        pieces.append((task, message.tokens.count))
    }

    /// Returns the oldest piece once all of it has ended; nil if there is none.
    func next() async -> Ended? {
        guard let oldest = pieces.first else { return nil }
        let tasks = pieces.map(\.task)
        let ended = await withTaskCancellationHandler {
            await oldest.task.value
        } onCancel: {
            for task in tasks { task.cancel() }
        }
        pieces.removeFirst()
        tokens -= oldest.tokens
        return ended
    }
}

private func send(_ message: APNs.Message, through apns: APNs) async -> SendingPieces.Ended {
    do throws(PushError) {
        let outcomes = try await apns.outcomes(of: message)
        var ended = SendingPieces.Ended(pushes: APNs.Push.all(of: message, outcomes))
        if let reason = outcomes.unsentReason {
            if reason.code == .cancelled { ended.failure = CancellationError() }
            if outcomes.areUnsent { ended.failure = ended.failure ?? reason }
        }
        return ended
    } catch {
        var outcomes = Outcomes(repeating: Outcome(.safe), count: message.tokens.count)
        outcomes.withheld = error
        return SendingPieces.Ended(pushes: APNs.Push.all(of: message, outcomes), failure: error)
    }
}
