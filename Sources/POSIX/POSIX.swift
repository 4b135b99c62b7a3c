// The C library under one name on every platform: a file that needs it imports this module, and no other file chooses.

#if canImport(Darwin)
    @_exported import Darwin
#else
    @_exported import CarillonCLinux
    @_exported import Glibc
#endif
