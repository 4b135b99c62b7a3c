/// Checks one password at a time: each check takes 8 MB. Others wait, as many as `AttemptLimits` allows.
actor LoginTurn {}
