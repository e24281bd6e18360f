"""Many packs on many machines: jobs, the workers that run them, and what people see of them."""
