# Reads the price list of a supplier.
def import(list)
  list.each do |article, price|
    Db.run("update articles set price = ? where id = ?", price, article)
  end
end
