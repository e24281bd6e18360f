quantity = 1
