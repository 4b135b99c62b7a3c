import FoundationEssentials

/// Credentials made once, with keys that open nothing. Their secrets are words that must appear in no output.
enum CredentialFixtures {
    static let passphrase = "canary-passphrase"

    /// Good until 2081, for com.example.fixture.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBxTCCAWugAwIBAgIUEI+iczZihAybKQ/lrhLSL/t2AoEwCgYIKoZIzj0EAwIw
        NzEjMCEGCgmSJomT8ixkAQEME2NvbS5leGFtcGxlLmZpeHR1cmUxEDAOBgNVBAMM
        B0ZpeHR1cmUwIBcNMjYxMTIxMDQwOTUxWhgPMjA4MTA4MjQwNDA5NTFaMDcxIzAh
        BgoJkiaJk/IsZAEBDBNjb20uZXhhbXBsZS5maXh0dXJlMRAwDgYDVQQDDAdGaXh0
        dXJlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5UuE7H7ZlSIoQmp64cXFY5gf
        8/cy7SR57Lx8zJ9fu9oc7fHYjkU41idUUgNLWILe15Rtd6lDGfEGNAzvJo2xvKNT
        MFEwHQYDVR0OBBYEFKztGAWX184wVKWCdLdjFr39+SGKMB8GA1UdIwQYMBaAFKzt
        GAWX184wVKWCdLdjFr39+SGKMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID
        SAAwRQIgWi5eR0G+zTQrcLVj/RaBlx5iyhlyKZfRAEmnwEdBD/MCIQD9gJUSQK12
        e9g0zJ5SIDVPgL+lDyiVEtuZl3mdQnfZxg==
        -----END CERTIFICATE-----

        """

    /// The certificate's key, encrypted with the passphrase.
    static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg5n0bQVC8ifQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEByQBB0PFVy7/Vtpyq0ZPkwEgZAS
        9H01wd0tuGzKvKjHmXUaZTD/vj6wLb2ZQ2uxS7D+JK5dZ0xftOYxw3LbE5HGZl7i
        cdmepOH48lEJTyHpJt4vUZw6oYhl5eE3lQ57wRY3CJ9B5g7y3rV0lAlqjEeInYcH
        LmDRtD5pL/ED4IOu2oglcI3rwZQn9T70dj8V+1D5SpWAvOFI/kvjkSX5tQQhgxY=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// A signing key on P-384, which Apple does not use.
    static let wrongCurve = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDjvP8FdDbGLBnJhD7T
        SUcb7Xocw5JokiFQXn5WgqtSaxcZCGYGrzbEpuYAeiRNZlKhZANiAAQ2yaROPzNd
        6NeoafkuVCzH7eBT6g9eK7PFBrb9o5zgb9zWThvWXckQNeQRUZzC7fIVgr+UAo6s
        EL5j0lG32APIaIcN+DxDEDLb+qdBec6ZqoWBT20jaRvwA5eGnB9DWA8=
        -----END PRIVATE KEY-----

        """

    /// The certificate and its key, encrypted with the passphrase.
    static var bundle: Data {
        guard let data = Data(base64Encoded: bundleText.filter { !$0.isWhitespace }) else {
            preconditionFailure("the text is base64")
        }
        return data
    }

    private static let bundleText = """
        MIIEXAIBAzCCBBIGCSqGSIb3DQEHAaCCBAMEggP/MIID+zCCArIGCSqGSIb3DQEHBqCCAqMwggKfAgEAMIICmAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAieVunzxImvOgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOKN
        06rWKyiwOvcnurv32FuAggIwklqlhVE8KQne6Ui2b1R9NJqDmwxXTab01dRQ0r8NateAaA+zig9cjRQWr+o6b24ZmgW5liBoBmgc
        CUPgGDmEHnlHqP6hyZpB1dh0mvVH3w2tkqMUzNMkHFA3JDevtuwBRBSFqyEpqrP0BNzjp0rDw3FxUyNi9gS5NwGJposkmpvUDQJD
        graIt99yEXqLslZ69c/rL2w1MbkJz6Mj5pOdOLwNxCnmqN4z2+KExpBLcu/AV3c9Z1h6b5UG6P2N7iyZniuT0eVX20rUxv86O/JT
        7iRaBrfTL3VgLp63mlCZMXTyMk1If6JLWtf9nhOKGeTTHrgHdb2J52dKr81mLtomLp9DRBhnuB8cgcvfCxEtXfd85ZGVm3WTFyJu
        ujKgmFHn7ZM648Z3fud5dwR1NPjrmscqXl9Je++LsQwsa8Q2uF5TbFpYO21CTEdZWAkzcSSvzTh0NGn0jr3X75cC4adTK6JkxRWD
        NrKad8/vpZZ+mVk4Ljz0fMeu6a+FOYtVgJR9wzfDKo2fLLUo0Q2WVjd4v7h60e6uEQwTmd9gotbGhfvBlQxQQoNVk4xEooz5kOeX
        ATJh6pMRBXtjSI5rNXgOkhoLVBhdrb4RLQfwHrKpVRWE5i4TcBr8cHu7zLNb0a/0OSns+yAFTVZXVH85JFAAYxsQc+YNBCkk63av
        v5E8TY6WCn2abPEmiRjuZ2ec04dCHM3tJHyeG9LuZV7rDroqyuR7BbC9QUjq+Dab/HMGOegwggFBBgkqhkiG9w0BBwGgggEyBIIB
        LjCCASowggEmBgsqhkiG9w0BDAoBAqCB7zCB7DBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI0mvvVIDTAVkCAggAMAwG
        CCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBCHzS13iBX6GOImFJJPmw67BIGQWDSGW/kJHJEXiL6nrss2uUHRrfmsaJG4oBD7RLK8
        Iy8Sq1+tTohcqWa5hTNYYc+PfXV1mY6GSZNqBmg1ldZSw54hlOtESSLjHAO/08SM6GZ0+brw+aIwPA5ZF7wPa/22ChhKC1rZGV6l
        KROsm6Sgsz5UKOBUx/dUfuVDgfA1o3hc1b2+OpUY+Qy2qluYjjAiMSUwIwYJKoZIhvcNAQkVMRYEFGvQ3a5oK4y4ykwgSqRueePb
        tvmBMEEwMTANBglghkgBZQMEAgEFAAQgkSJ8aorwkeaO5qm/vXUn19MRfqgSEUXM7D9pWHVv1YgECALsTEVD4XZmAgIIAA==
        """
}
