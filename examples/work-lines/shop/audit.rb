# Who did what.
def record(user, what, subject)
  # Called by the price editor.
  Db.insert(:audit, user: user.id, what: what, subject: subject)
end
