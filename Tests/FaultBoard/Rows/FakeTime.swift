import Glibc
import TestSupport

/// libfaketime, where it is installed: programs with a wrong time of day. Their monotonic clocks stay right.
enum FakeTime {
    private static let library: String? = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib64/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1",
    ].first { (path: String) in access(path, R_OK) == 0 }

    /// Programs with a sanitizer do not start with it.
    static var isUsable: Bool { library != nil && !Sanitizer.isLoaded }

    /// What a shell runs before it becomes the program, whose clock is then wrong by an offset such as "+10m".
    ///
    /// There is another shell in between: the library moves the environment of the first program, and Swift finds its arguments
    /// next to the environment.
    static func shell(_ offset: String) -> String {
        "export LD_PRELOAD=\(library ?? "") FAKETIME=\(offset) FAKETIME_DONT_FAKE_MONOTONIC=1; "
            + #"exec /bin/sh -c 'exec "$0" "$@"' "$0" "$@""#
    }

    /// Removes what the library leaves in shared memory when its process is killed.
    static func forget(_ processID: Int32) {
        for name in ["faketime_shm_\(processID)", "sem.faketime_sem_\(processID)"] { unlink("/dev/shm/\(name)") }
    }
}
