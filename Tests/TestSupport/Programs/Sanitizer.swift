import Glibc

/// ThreadSanitizer or AddressSanitizer, with which the tests and the programs that they start may be built.
package enum Sanitizer {
    /// If so, a program takes memory and address space that it does not take otherwise.
    package static let isLoaded = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
