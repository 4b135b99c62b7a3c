/// A move that has failed, and could not undo what it had begun.
package struct UnfinishedMove: Error {
    package let cause: any Error
    /// Why nothing was undone.
    package let hindrance: any Error
}
