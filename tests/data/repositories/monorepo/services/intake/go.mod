module example.org/intake

go 1.22
