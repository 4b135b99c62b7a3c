/// What has become of a channel; `unknown`: Apple has it, and nobody has recorded it.
package enum ChannelState: String, CaseIterable, Decodable, Sendable {
    case requested, ready, failed, missing, removing, unknown
}
