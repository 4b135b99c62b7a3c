/// What happened in a client session. Every submitted tag ends in exactly one ``answered`` or ``ended``.
package enum ClientEvent: Sendable {
    /// The peer's settings arrived or changed: see ``ClientSession/freeStreams``.
    case settingsChanged
    case settingsAcknowledged
    /// A request that had to wait for a window or the socket has now been drained to its end.
    case written(tag: UInt32)
    /// The header of a 200 has arrived, but not the end of the answer.
    case begun(ClientSession.Submission)
    /// A final answer. Its bytes stay readable until the next ``ClientSession/feed(_:)``.
    case answered(tag: UInt32, HTTP2Response)
    /// The stream ended without a complete answer.
    case ended(tag: UInt32, StreamEnding)
    /// The peer accepts no more streams; ``ClientSession/goAwayDebugData`` may give the reason.
    case goAway(ErrorCode)
}
