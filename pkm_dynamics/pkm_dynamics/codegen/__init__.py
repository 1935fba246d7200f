"""Generated machine code: the equations of one mechanism, eight samples at a time.

`expression` records arithmetic, `equations` states the mechanism's equations with it,
`machine_code` turns the record into a compiled function, `store` keeps it on disk.
"""
