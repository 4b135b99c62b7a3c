import ApplePush
import IO
import Postgres

/// What any worker does for the fleet, and for its own connections.
extension Worker {
    func keepHouse() async {
        while await self.sleep(for: self.state.houseWait()) {
            await self.takeOverOrphans()
            await self.releaseStrays()
            await self.maintain()
            await self.backend.outdate(idle: self.options.idleTimeout)
        }
    }
}
