import CarillonText

extension WorkerEvent {
    static func channelMade(app: Int32, reference: String, channel: String) -> Self {
        Self(.channelMade, .info, "Apple has created a channel.")
            .with(["app_id": app, "reference": reference, "channel": channel])
    }

    /// The next comparison removes it.
    static func channelMadeTooLate(app: Int32, reference: String, channel: String) -> Self {
        let sentence = "Apple created a channel after another worker had taken over the request; it will be removed."
        return Self(.channelMadeTooLate, .warning, sentence)
            .with(["app_id": app, "reference": reference, "channel": channel])
    }

    static func channelFailed(app: Int32, reference: String, error: String, isFinal: Bool) -> Self {
        let sentence =
            isFinal
            ? "A channel cannot be created: fix the cause and request it again."
            : "A request about a channel failed and will be repeated."
        return Self(.channelFailed, .warning, sentence)
            .with(["app_id": app, "reference": reference, "error": error])
    }

    static func channelsCompared(app: String, unknown: Int, missing: Int, removed: Int) -> Self {
        let sentence = "The channels of an app differ from Apple's list; 'carillon channel sync' lists them."
        return Self(.channelsCompared, .warning, sentence)
            .with(["app": app, "unknown": unknown, "missing": missing, "removed": removed])
    }

    static func channelsNotCompared(app: Int32, error: String) -> Self {
        let sentence =
            "The channels of an app could not be compared with Apple's list; the next attempt is in a day."
        return Self(.channelsNotCompared, .warning, sentence).with(["app_id": app, "error": error])
    }
}
