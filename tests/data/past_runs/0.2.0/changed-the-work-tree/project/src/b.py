price = 2
more
