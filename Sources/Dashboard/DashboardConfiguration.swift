package import CarillonIO

/// What all dashboards of one server have in common.
package struct DashboardConfiguration: Sendable {
    package typealias Observer = @Sendable (DashboardEvent) -> Void

    let version: String
    let access: WebAccess
    let loop: EventLoop
    let observer: Observer

    package init(version: String, access: WebAccess, loop: EventLoop, observer: @escaping Observer) {
        self.version = version
        self.access = access
        self.loop = loop
        self.observer = observer
    }
}
