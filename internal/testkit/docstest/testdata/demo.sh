# The page makes all that it needs itself.
