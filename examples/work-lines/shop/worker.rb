# Sends parcels.
class Worker
  def perform(order)
    log("parcel", order)
    Parcels.send(order)
  end
end
