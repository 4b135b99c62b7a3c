import Glibc

/// libfaketime, where it is installed: programs that are told a wrong time of day. Their monotonic clocks stay right.
enum FakeTime {
    private static let library: String? = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib64/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1",
    ].first { (path: String) in access(path, R_OK) == 0 }

    static var isInstalled: Bool { library != nil }

    /// What a shell does before it becomes the program: its clock is wrong by so much, such as "+10m".
    ///
    /// Another shell comes between, since the first program under the library finds its environment moved, and Swift looks
    /// for its arguments beside that.
    static func shell(_ offset: String) -> String {
        "export LD_PRELOAD=\(library ?? "") FAKETIME=\(offset) FAKETIME_DONT_FAKE_MONOTONIC=1; "
            + #"exec /bin/sh -c 'exec "$0" "$@"' "$0" "$@""#
    }

    /// Removes what the library leaves in shared memory when its process is killed.
    static func forget(_ processID: Int32) {
        for name in ["faketime_shm_\(processID)", "sem.faketime_sem_\(processID)"] { unlink("/dev/shm/\(name)") }
    }
}
