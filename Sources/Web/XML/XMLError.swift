/// Why a document cannot be read.
package struct XMLError: Error, Equatable {
    package let reason: String
    /// In bytes.
    package let place: Int

    package init(reason: String, place: Int) {
        self.reason = reason
        self.place = place
    }
}
