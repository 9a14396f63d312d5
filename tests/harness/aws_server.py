"""A server of AWS's APIs. S3 grants a conditional write to one of several writers; Moto checks and writes in two steps."""

import threading

from moto.s3.responses import S3Response
from moto.server import main

put_object = S3Response.put_object
one_writer = threading.Lock()


def put_object_alone(response):
    with one_writer:
        return put_object(response)


S3Response.put_object = put_object_alone
main()
