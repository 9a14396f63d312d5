"""Keeps a bucket like a folder, for ever: python3 keep-themes.py FOLDER BUCKET."""

import sys
import time
from pathlib import Path

import boto3

PAUSE_SECONDS = 1


def files_of(folder):
    """Every file by its key, with what tells one version from another."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def bring_up_to_date(bucket, folder, there):
    """Puts what is new or changed, deletes what is gone, and returns what is there then."""
    here = files_of(folder)
    for key in here:
        if there.get(key) != here[key]:
            bucket.put_object(Key=key, Body=(folder / key).read_bytes())
            print(f"put {key}", flush=True)
    for key in there.keys() - here.keys():
        bucket.Object(key).delete()
        print(f"deleted {key}", flush=True)
    return here


def main(folder, name):
    bucket = boto3.resource("s3").Bucket(name)
    bucket.create()
    there = {}
    while True:
        # A server that was restarted has lost the bucket: this ends with an error then, and begins again.
        bucket.meta.client.head_bucket(Bucket=name)
        there = bring_up_to_date(bucket, Path(folder), there)
        time.sleep(PAUSE_SECONDS)


main(*sys.argv[1:])
