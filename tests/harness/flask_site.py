"""A site in Flask: flask_site.py <port>. Everything under /checkout is the checkout."""

import sys

from flask import Flask, request

app = Flask(__name__, static_folder=None)


@app.route("/", defaults={"page": ""}, methods=["GET", "POST"])
@app.route("/<path:page>", methods=["GET", "POST"])
def show(page):
    section = page.split("/")[0]
    name = {"checkout": "SITE-CHECKOUT", "static": "SITE-STATIC"}.get(section, "SITE-HOME")
    return f"{name} {request.method} {request.path}", {"Content-Type": "text/plain"}


app.run(host="127.0.0.1", port=int(sys.argv[1]))
