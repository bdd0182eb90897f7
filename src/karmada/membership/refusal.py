"""Why a cluster cannot join, register or leave, in words for the person who asked."""


class Refused(Exception):
    """Nothing was done, or what was done is harmless and reported; asking again with the cause removed works."""


class Unfinished(Refused):
    """It was begun and has not ended in the time allowed; asking again continues."""
