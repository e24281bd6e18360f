# One line for each event.
def log(event, order)
  puts JSON.generate(event: event, order: order.number, at: Time.now.utc)
end
