/// Checks one password at a time: each check takes 16 MB. Others wait, as many as `AttemptLimits` allows.
actor LoginTurn {}
