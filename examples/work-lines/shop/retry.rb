# Tries a block again.
def with_retry(times: 3)
  yield
rescue Timeout::Error
  retry if (times -= 1).positive?
  raise
end
