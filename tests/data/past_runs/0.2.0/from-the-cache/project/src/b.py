price = 2
