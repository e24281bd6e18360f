# Charges a card at the provider.
module Payments
  def self.charge(order, card)
    Provider.post("/charges", amount: order.total, card: card.token)
  end
end
