# Pages for staff.
class Admin < Controller
  def refund
    require_session
    order = Order.find(params[:id])
    Payments.refund(order)
  end
end
