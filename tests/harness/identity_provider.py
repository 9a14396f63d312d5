"""The provider of the tests, by HTTP and by TLS. Both are one: what begins at one door goes on at the other.

Arguments: the port of HTTP, that of TLS, certificate and key, seconds for which a proof holds, the people's claims.
"""

import json
import os
import ssl
import sys
from datetime import timedelta
from threading import Thread

from oidc_provider_mock import User, app
from werkzeug.serving import make_server

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
http, tls, certificate, key, holds, *people = sys.argv[1:]
known = [json.loads(claims) for claims in people]
users = [User(sub=claims.pop("sub"), claims=claims) for claims in known]
provider = app(require_nonce=True, access_token_max_age=timedelta(seconds=int(holds)), user_claims=users)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
doors = [
    make_server("127.0.0.1", int(http), provider, threaded=True),
    make_server("127.0.0.1", int(tls), provider, threaded=True, ssl_context=context),
]
for door in doors:
    Thread(target=door.serve_forever).start()
