extension PushType {
    /// The topic of such pushes to an app: its bundle ID with the suffix of the type, unless it already ends with it.
    public func topic(of bundleID: String) -> String {
        isComplete(bundleID.utf8) ? bundleID : bundleID + topicSuffix
    }

    /// The same as bytes; an empty one stays empty.
    package func topic(of bundleID: [UInt8]) -> [UInt8] {
        isComplete(bundleID) ? bundleID : bundleID + topicSuffix.utf8
    }

    /// The topic of a message, completed. A topic with the suffix of another type is left unchanged, so that APNs reports what is
    /// wrong.
    func completing(_ topic: String) -> String {
        let isOfAnotherType = Self.table.contains { !$0.suffix.isEmpty && topic.hasSuffix($0.suffix) }
        return isOfAnotherType ? topic : self.topic(of: topic)
    }

    private func isComplete(_ topic: some BidirectionalCollection<UInt8>) -> Bool {
        let suffix = topicSuffix.utf8
        return suffix.isEmpty || topic.isEmpty || topic.suffix(suffix.count).elementsEqual(suffix)
    }
}
